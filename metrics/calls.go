package metrics

import (
	"context"
	"errors"
	"maps"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// ServeCall is an oncrpc.ServerInterceptor. It counts calls, and times a sample of them.
func (m *Metrics) ServeCall(ctx context.Context, c *oncrpc.Call, next oncrpc.Handler) error {
	id := procID{c.Program, c.Version, c.Procedure}
	p := m.served.last.Load()
	if p.id != id {
		p = m.served.find(id, c.Names)
	}
	if !p.timed() {
		err := next(ctx, c)
		p.count(err)
		return err
	}
	begun := time.Now()
	err := next(ctx, c)
	p.duration.Observe(time.Since(begun).Seconds())
	p.count(err)
	return err
}

// MakeCall is an oncrpc.ClientInterceptor. It counts calls, and times a sample of them.
func (m *Metrics) MakeCall(
	ctx context.Context, c *oncrpc.ClientCall,
	next func(context.Context, *oncrpc.ClientCall) error,
) error {
	id := procID{c.Program, c.Version, c.Procedure}
	p := m.made.last.Load()
	if p.id != id {
		p = m.made.find(id, func() (program, procedure string, ok bool) { return known(id) })
	}
	if !p.timed() {
		err := next(ctx, c)
		p.count(err)
		return err
	}
	begun := time.Now()
	err := next(ctx, c)
	p.duration.Observe(time.Since(begun).Seconds())
	p.count(err)
	return err
}

// GatewayCall is for gateway.Config.CallEnded. It counts and times calls. Programs other than NFS
// and MOUNT count as "other".
func (m *Metrics) GatewayCall(program, version, procedure uint32, took time.Duration, err error) {
	id := procID{program, version, procedure}
	p := m.passed.last.Load()
	if p.id != id {
		p = m.passed.find(id, func() (program, procedure string, ok bool) {
			program, procedure, _ = known(id)
			return program, procedure, program != "" && bounded(id)
		})
	}
	if p.duration != nil {
		p.duration.Observe(took.Seconds())
	}
	p.count(err)
}

// bounded reports whether a known program has the procedure. Clients may send any number.
func bounded(id procID) bool {
	return id.program == nfs3.Program && id.procedure < uint32(nfs3.Procs) ||
		id.program == mount3.Program && id.procedure < uint32(mount3.Procs)
}

// known returns the names of a procedure, "" if they are not known.
func known(id procID) (program, procedure string, _ bool) {
	switch {
	case id.program == nfs3.Program && id.version == nfs3.Version:
		return "NFS", nfs3.Proc(id.procedure).String(), true
	case id.program == mount3.Program && id.version == mount3.Version:
		return "MOUNT", mount3.Proc(id.procedure).String(), true
	}
	return "", "", true
}

// procID identifies a procedure.
type procID struct{ program, version, procedure uint32 }

// calls are the call metrics of one side. The data path finds a procedure without a lock.
type calls struct {
	total     *prometheus.Desc
	durations *prometheus.HistogramVec

	last  atomic.Pointer[procedure]             // the procedure that was called last
	known atomic.Pointer[map[procID]*procedure] // the map is replaced, never changed
	other *procedure                            // counts calls of unknown procedures

	mu sync.Mutex // held to replace known
}

// procedure has the counters of one procedure.
type procedure struct {
	id       procID
	labels   []string
	outcomes [len(outcomes)]atomic.Uint64
	duration prometheus.Observer // nil for calls.other
}

// The first timedAll calls of a procedure are timed, and then one in timedOne. Reading the clock
// twice takes a tenth of the time of a small call.
const (
	timedAll = 1 << 12
	timedOne = 32
)

// timed reports whether to time the next call.
func (p *procedure) timed() bool {
	n := p.outcomes[success].Load()
	return (n < timedAll || n%timedOne == 0) && p.duration != nil
}

// count counts a call that has ended.
func (p *procedure) count(err error) {
	o := success
	if err != nil {
		o = outcomeOf(err)
	}
	p.outcomes[o].Add(1)
}

// newCalls makes the metrics of a side: "server", "client" or "gateway". timed ends the help of the
// latency, and says which calls are timed.
func newCalls(side, timed string) *calls {
	labels := []string{"program", "version", "procedure"}
	c := &calls{
		total: prometheus.NewDesc("rpcrdma_"+side+"_calls_total",
			"RPC calls that have ended, by outcome.", append(labels, "outcome"), nil),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "rpcrdma_" + side + "_call_duration_seconds",
			Help: "How long RPC calls took" + timed + ".",

			// to 16.8 s
			Buckets:                         prometheus.ExponentialBuckets(4e-6, 4, 12),
			NativeHistogramBucketFactor:     1.2,
			NativeHistogramMaxBucketNumber:  100,
			NativeHistogramMinResetDuration: time.Hour,
		}, labels),
	}
	c.known.Store(&map[procID]*procedure{})
	c.other = &procedure{labels: []string{"other", "other", "other"}}
	c.last.Store(c.other)
	return c
}

// find returns a procedure, and makes it at the first call. If the server does not have it, it
// returns other.
func (c *calls) find(id procID, names func() (program, procedure string, ok bool)) *procedure {
	p := (*c.known.Load())[id]
	if p == nil {
		program, name, ok := names()
		if !ok {
			return c.other
		}
		p = c.learn(id, program, name)
	}
	c.last.Store(p)
	return p
}

// learn makes the metrics of a procedure. A name that is "" is replaced by the number.
func (c *calls) learn(id procID, program, name string) *procedure {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := *c.known.Load()
	if p := known[id]; p != nil {
		return p
	}
	if program == "" {
		program = number(id.program)
	}
	if name == "" {
		name = number(id.procedure)
	}
	p := &procedure{id: id, labels: []string{program, number(id.version), name}}
	p.duration = c.durations.WithLabelValues(p.labels...)
	known = maps.Clone(known)
	known[id] = p
	c.known.Store(&known)
	return p
}

func number(n uint32) string { return strconv.FormatUint(uint64(n), 10) }

// describe sends the descriptions.
func (c *calls) describe(ch chan<- *prometheus.Desc) {
	ch <- c.total
	c.durations.Describe(ch)
}

// collect sends the metrics. Success is sent from the first call on, other outcomes once they have
// occurred.
func (c *calls) collect(ch chan<- prometheus.Metric) {
	c.durations.Collect(ch)
	c.other.collect(ch, c.total)
	for _, p := range *c.known.Load() {
		p.collect(ch, c.total)
	}
}

func (p *procedure) collect(ch chan<- prometheus.Metric, total *prometheus.Desc) {
	for o := range p.outcomes {
		if n := p.outcomes[o].Load(); n > 0 || outcome(o) == success && p.duration != nil {
			ch <- counter(total, n, append(p.labels[:3:3], outcomes[o])...)
		}
	}
}

// outcome is how a call has ended.
type outcome int

// The outcomes.
const (
	success outcome = iota
	progUnavail
	progMismatch
	procUnavail
	garbageArgs
	systemErr
	denied
	rpcMismatch
	dropped
	cancelled
	timedOut
	connEnded
)

var outcomes = [...]string{
	success: "success", progUnavail: "prog_unavail", progMismatch: "prog_mismatch",
	procUnavail: "proc_unavail", garbageArgs: "garbage_args", systemErr: "system_err",
	denied: "denied", rpcMismatch: "rpc_mismatch", dropped: "dropped",
	cancelled: "cancelled", timedOut: "timeout", connEnded: "connection_ended",
}

// outcomeOf says how a call has ended that did not succeed.
func outcomeOf(err error) outcome {
	var late interface{ Timeout() bool }
	switch {
	case errors.Is(err, oncrpc.ErrDrop):
		return dropped
	case errors.Is(err, context.Canceled):
		return cancelled
	case errors.As(err, &late) && late.Timeout():
		return timedOut
	case errors.Is(err, net.ErrClosed):
		return connEnded
	}
	switch e := oncrpc.OutcomeForCaller(err).(type) {
	case *oncrpc.AuthError:
		return denied
	case *oncrpc.VersionError:
		return rpcMismatch
	case *oncrpc.AcceptError:
		switch e.Stat {
		case oncrpc.ProgUnavail:
			return progUnavail
		case oncrpc.ProgMismatch:
			return progMismatch
		case oncrpc.ProcUnavail:
			return procUnavail
		case oncrpc.GarbageArgs:
			return garbageArgs
		}
	}
	return systemErr
}
