package paired

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/host"
	"github.com/rpcrdma/go-rpcrdma/bench/rounds"
)

// pair is a server process and a client process.
type pair struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	limit  time.Duration

	server, client process
	here           bool   // both ends are in this process
	restore        func() // restores GOMAXPROCS; nil if it is unchanged

	next int // ID of the next scenario
	// idle is what the server allocates to answer one command. It is subtracted from what a
	// scenario allocates.
	idle uint64
}

// Measurement is one round of one scenario.
type Measurement struct {
	Operations int
	Elapsed    time.Duration
	P50        time.Duration // median time of one operation; only for Latency
	Server     Usage
	Client     Usage
}

// startPair starts the two processes. They end with ctx or with stop.
func startPair(ctx context.Context, o Options) (*pair, error) {
	p := &pair{limit: o.Limit}
	p.ctx, p.cancel = context.WithCancelCause(ctx)
	cpus := [2][]int{} // empty means any
	if len(o.CPUs) == 2 {
		cpus = [2][]int{o.CPUs[:1], o.CPUs[1:]}
	}
	server, err := startProcess(p.ctx, serverRole, cpus[0]...)
	if err != nil {
		return nil, errors.Join(err, p.stop())
	}
	p.server = server
	client, err := startProcess(p.ctx, clientRole, cpus[1]...)
	if err == nil {
		p.client = client
		err = p.measureIdle()
	}
	if err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return p, nil
}

// startHere runs both ends in this process until stop. It sets GOMAXPROCS to procs, unless procs is
// 0.
func startHere(ctx context.Context, o Options, procs int) *pair {
	p := &pair{limit: o.Limit, here: true}
	p.ctx, p.cancel = context.WithCancelCause(ctx)
	g := &guard{ctx: p.ctx}
	p.server, p.client = thisProcess{newChild(serverRole), g}, thisProcess{newChild(clientRole), g}
	if procs > 0 {
		before := runtime.GOMAXPROCS(procs)
		p.restore = func() { runtime.GOMAXPROCS(before) }
	}
	return p
}

// measureIdle measures idle.
func (p *pair) measureIdle() error {
	p.idle = math.MaxUint64
	before, err := p.do(p.server, command{Verb: verbUsage})
	for range 3 {
		if err != nil {
			return err
		}
		var after reply
		after, err = p.do(p.server, command{Verb: verbUsage})
		p.idle = min(p.idle, after.Usage.Allocs-before.Usage.Allocs)
		before = after
	}
	return err
}

// do makes one of the two processes carry out a command, within the time limit.
func (p *pair) do(at process, cmd command) (reply, error) {
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
		Server:     after.Usage.Since(before.Usage),
		Client:     r.Usage,
	}
	m.Server.Allocs -= min(p.idle, m.Server.Allocs)
	if p.here {
		m.Server = Usage{} // the client's usage is that of this process
	}
	return m, nil
}

// calibrate finds how many operations of a scenario take about d.
func (p *pair) calibrate(id, unit int, d time.Duration) (n int, err error) {
	return rounds.Calibrate(unit, d, func(n int) (time.Duration, error) {
		m, err := p.run(id, n)
		return m.Elapsed, err
	})
}

// settle collects garbage, so that a collection does not fall into a round. Then it refills the
// pools that the collection emptied.
func (p *pair) settle(ids, operations [2]int) error {
	runtime.GC()
	for i, id := range ids {
		if _, err := p.run(id, operations[i]); err != nil {
			return err
		}
	}
	return nil
}

// profile runs n operations of a scenario with a CPU profile of each process.
func (p *pair) profile(id, n int, s Scenario, dir string) error {
	name := strings.NewReplacer("/", "-", " ", "-").Replace(s.Name)
	all := map[string]process{serverRole: p.server, clientRole: p.client}
	if p.here {
		delete(all, serverRole) // it is the same process
	}
	for role, at := range all {
		path := filepath.Join(dir, name+"."+role+".pprof")
		if _, err := p.do(at, command{Verb: verbProfile, Path: path}); err != nil {
			return err
		}
	}
	_, err := p.run(id, n)
	for _, at := range all {
		_, e := p.do(at, command{Verb: verbProfile})
		err = errors.Join(err, e)
	}
	return err
}

// close closes a scenario, first at the client.
func (p *pair) close(id int) error {
	_, err := p.do(p.client, command{Verb: verbClose, ID: id})
	_, serverErr := p.do(p.server, command{Verb: verbClose, ID: id})
	return errors.Join(err, serverErr)
}

// stop stops both processes, the client first.
func (p *pair) stop() error {
	defer p.cancel(context.Canceled)
	var errs []error
	if p.restore != nil {
		defer p.restore()
	}
	for _, at := range []process{p.client, p.server} {
		if at != nil {
			errs = append(errs, at.Stop(host.Grace))
		}
	}
	return errors.Join(errs...)
}
