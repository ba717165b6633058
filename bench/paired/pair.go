package paired

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/host"
)

// pair is a server process and a client process.
type pair struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	limit  time.Duration

	server, client *process

	next int // ID of the next scenario
	// idle is what the server allocates to answer one command: it is no part of what
	// a scenario allocates.
	idle uint64
}

// Measurement is one round of one scenario.
type Measurement struct {
	Operations int
	Elapsed    time.Duration
	P50        time.Duration // median time of one operation; of Latency only
	Server     Usage
	Client     Usage
}

// startPair starts the two processes. They end with ctx, or with stop.
func startPair(ctx context.Context, o Options) (*pair, error) {
	p := &pair{limit: o.Limit}
	p.ctx, p.cancel = context.WithCancelCause(ctx)
	cpus := [2][]int{} // none means any
	if len(o.CPUs) == 2 {
		cpus = [2][]int{o.CPUs[:1], o.CPUs[1:]}
	}
	err := errors.Join(
		p.start(&p.server, serverRole, cpus[0]),
		p.start(&p.client, clientRole, cpus[1]),
	)
	if err == nil {
		err = p.measureIdle()
	}
	if err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return p, nil
}

func (p *pair) start(at **process, role string, cpus []int) (err error) {
	*at, err = startProcess(p.ctx, role, cpus...)
	return err
}

// measureIdle sets idle.
func (p *pair) measureIdle() error {
	p.idle = math.MaxUint64
	before, err := p.do(p.server, command{Verb: verbUsage})
	for range 3 {
		if err != nil {
			return err
		}
		var after reply
		after, err = p.do(p.server, command{Verb: verbUsage})
		p.idle = min(p.idle, after.Usage.Mallocs-before.Usage.Mallocs)
		before = after
	}
	return err
}

// do has at, one of the two, carry out a command in time.
func (p *pair) do(at *process, cmd command) (reply, error) {
	timer := time.AfterFunc(p.limit, func() {
		p.cancel(fmt.Errorf("no answer within %v", p.limit))
	})
	defer timer.Stop()
	r, err := at.do(cmd)
	if err != nil && p.ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", context.Cause(p.ctx), err)
	}
	return r, err
}

// open sets up both ends of a scenario and returns its ID.
func (p *pair) open(s Scenario, sockets Sockets) (id int, err error) {
	cmd := command{Verb: verbOpen, ID: p.next, Scenario: s.Name, Sockets: sockets}
	p.next++
	r, err := p.do(p.server, cmd)
	if err != nil {
		return 0, err
	}
	cmd.Addr = r.Addr
	_, err = p.do(p.client, cmd)
	return cmd.ID, err
}

// run does n operations of a scenario.
func (p *pair) run(id, n int) (Measurement, error) {
	before, err := p.do(p.server, command{Verb: verbUsage})
	if err != nil {
		return Measurement{}, err
	}
	r, err := p.do(p.client, command{Verb: verbRun, ID: id, Operations: n})
	if err != nil {
		return Measurement{}, err
	}
	after, err := p.do(p.server, command{Verb: verbUsage})
	if err != nil {
		return Measurement{}, err
	}
	m := Measurement{
		Operations: n,
		Elapsed:    r.Elapsed,
		P50:        r.P50,
		Server:     after.Usage.since(before.Usage),
		Client:     r.Usage,
	}
	m.Server.Mallocs -= min(p.idle, m.Server.Mallocs)
	return m, nil
}

// calibrate finds how many operations take about d. What it runs to find out also warms up
// the scenario: a connection gets faster in the beginning.
func (p *pair) calibrate(id int, d time.Duration) (n int, err error) {
	n = 1
	for i := range calibrations {
		m, err := p.run(id, n)
		if err != nil {
			return 0, err
		}
		factor := float64(d) / float64(max(m.Elapsed, 1))
		if 0.8 < factor && factor < 1.25 {
			break
		}
		if n == 1 && factor < 1 && i > 0 { // warmed up, and it cannot be fewer
			break
		}
		n = max(1, int(float64(n)*min(factor, 16)))
	}
	return n, nil
}

// calibrations is how many runs it takes at the most. Where the speed is unsteady they do
// not converge.
const calibrations = 12

// profile runs n operations of a scenario, with a CPU profile of either process.
func (p *pair) profile(id, n int, s Scenario, dir string) error {
	name := strings.NewReplacer("/", "-", " ", "-").Replace(s.Name)
	for _, at := range []*process{p.server, p.client} {
		path := filepath.Join(dir, name+"."+at.role+".pprof")
		if _, err := p.do(at, command{Verb: verbProfile, Path: path}); err != nil {
			return err
		}
	}
	_, err := p.run(id, n)
	for _, at := range []*process{p.server, p.client} {
		_, e := p.do(at, command{Verb: verbProfile})
		err = errors.Join(err, e)
	}
	return err
}

// close ends a scenario, the client first.
func (p *pair) close(id int) error {
	_, err := p.do(p.client, command{Verb: verbClose, ID: id})
	_, serverErr := p.do(p.server, command{Verb: verbClose, ID: id})
	return errors.Join(err, serverErr)
}

// stop ends both processes.
func (p *pair) stop() error {
	defer p.cancel(context.Canceled)
	var errs []error
	for _, at := range []*process{p.client, p.server} {
		if at != nil {
			errs = append(errs, at.Stop(host.Grace))
		}
	}
	return errors.Join(errs...)
}
