package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/control"
	"github.com/rpcrdma/go-rpcrdma/bench/host"
	"github.com/rpcrdma/go-rpcrdma/bench/program"
	"github.com/rpcrdma/go-rpcrdma/bench/raw"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
)

// Run measures. The result has everything but the crossovers and the recommendation (Conclude). It is there whenever something has been
// measured, beside an error that says what has not: that points have failed, or that ctx has ended.
func Run(ctx context.Context, o Options) (*Result, error) {
	o = o.withDefaults()
	if err := o.check(); err != nil {
		return nil, err
	}
	r := &runner{o: o, copies: make(yardsticks), streams: make(yardsticks)}
	r.result.Began = time.Now()
	err := r.open(ctx)
	if err == nil {
		err = r.measure(ctx)
	}
	err = errors.Join(err, r.close())
	r.result.Took = time.Since(r.result.Began)
	if len(r.result.Measured) == 0 {
		return nil, r.nothing(ctx, err)
	}
	return &r.result, err
}

// nothing says why nothing was measured, if err is not all there is to say.
func (r *runner) nothing(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errors.Join(ctx.Err(), err)
	}
	for _, l := range r.result.LeftOut {
		if err == nil {
			err = fmt.Errorf("bench: nothing was measured: %s", l.Why)
		}
	}
	return err
}

// runner is a run under way.
type runner struct {
	o      Options
	result Result

	addr, host string // of the server
	child      *child // nil if it ran already
	rpc        *recordmark.Conn
	control    *control.Client
	info       *control.Info
	raw        *raw.Client
	loopback   *local
	unpin      func() error
	meter      control.Meter // of this process

	payload, copied []byte // what is sent; where a copy goes
	copies, streams yardsticks
}

// open connects to a server, and starts one if need be.
func (r *runner) open(ctx context.Context) (err error) {
	r.addr = r.o.Server
	r.result.Server = r.addr
	if r.addr == "" {
		if r.child, err = startChild(ctx, r.o.Command, r.o.ServerCPUs); err != nil {
			return err
		}
		r.addr, r.result.Server = r.child.addr, "another process on this host"
	}
	if r.host, _, err = net.SplitHostPort(r.addr); err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	d := net.Dialer{Control: r.o.Sockets.Control}
	conn, err := d.DialContext(ctx, "tcp", r.addr)
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	r.rpc = recordmark.NewConn(conn, recordmark.Config{Logger: r.o.Logger})
	r.control = control.NewClient(r.rpc)
	if r.info, err = r.control.Info(ctx); err != nil {
		return fmt.Errorf("bench: %s is no bench server, or one of another version: %w", r.addr, err)
	}
	r.payload, r.copied = program.Pattern(program.MaxPayload), program.Pattern(program.MaxPayload)
	at := net.JoinHostPort(r.host, strconv.Itoa(int(r.info.Raw)))
	if r.raw, err = raw.Dial(ctx, at, r.o.Sockets, r.payload); err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	if r.loopback, err = startLocal(r.o.Memory, r.o.Logger); err != nil {
		return err
	}
	if len(r.o.ClientCPUs) > 0 {
		if r.unpin, err = host.Pin(r.o.ClientCPUs...); err != nil {
			return fmt.Errorf("bench: %w", err)
		}
	}
	return nil
}

// measure measures the yardsticks and the points.
func (r *runner) measure(ctx context.Context) error {
	g := r.o.Grid.within(min(r.o.Memory, int64(min(r.info.Memory, 1<<62))))
	r.result.Grid, r.result.LeftOut = g.Name, g.LeftOut
	r.result.Conditions = r.conditions()
	if len(g.Points) == 0 {
		return errors.New("bench: all points would take more memory than allowed")
	}
	until := time.Now().Add(r.o.Time)
	stop := context.AfterFunc(ctx, func() { r.raw.Close() })
	defer stop()
	if err := r.measureYardsticks(g, min(r.o.Time/20, 20*r.o.Most, 3*time.Second)); err != nil {
		return fmt.Errorf("bench: raw TCP: %w", err)
	}
	err := r.o.sweep(ctx, g, until, &r.result, r.point)
	r.result.Yardsticks.Copy, r.result.Yardsticks.TCP = r.copies.figures(), r.streams.figures()
	return err
}

// stuck is how much longer than its share a point may take before it is given up.
const stuck = 30 * time.Second

// aside is the most time that the yardstick, and the warming up, take of a point's.
const aside = time.Second / 2

// point measures one point, and its yardstick, for about share.
func (r *runner) point(ctx context.Context, p Point, share time.Duration) (m Measured, err error) {
	until := time.Now().Add(share)
	ctx, cancel := context.WithTimeout(ctx, share+stuck)
	defer cancel()
	m.Point = p
	beside, err := r.yardstick(p, min(share/6, aside))
	if err != nil {
		return m, r.lost(err)
	}
	f, err := r.dial(ctx, p)
	if err != nil {
		return m, r.lost(err)
	}
	defer f.close()
	// What ends a call early is the end of its connection: calls with a context of their own cost more.
	stop := context.AfterFunc(ctx, f.close)
	defer stop()

	l := newLoad(f, p, r.payload)
	err = l.start(context.Background(), min(share/6, aside))
	var wire int64
	var client, server control.Usage
	if err == nil {
		wire = f.wire()
		if server, err = r.control.Usage(ctx); err == nil {
			client = r.meter.Used()
		}
	}
	if latest := time.Now().Add(share / 3); until.Before(latest) {
		until = latest
	}
	if err != nil {
		until = time.Time{}
	}
	elapsed, failed := l.run(until)
	if err = errors.Join(err, failed, f.check()); err != nil {
		return m, r.lost(err)
	}
	m.Client = Usage(r.meter.Used().Since(client))
	after, err := r.control.Usage(ctx)
	if err != nil {
		return m, r.lost(err)
	}
	m.Client.Conns = p.Conns
	if p.Path != Loopback {
		m.ServerUsage = Usage(after.Since(server))
	}
	m.WireBytes = f.wire() - wire
	m.Calls, m.Elapsed, m.Latency = l.times.count(), elapsed, l.times.latency()
	if beside > 0 {
		m.Ratio = m.Throughput() / beside
	}
	return m, nil
}

// askAgain is how long the server may take to show that it is still there.
const askAgain = 5 * time.Second

// lost adds to an error that the server has ended, if it has.
func (r *runner) lost(err error) error {
	ctx, cancel := context.WithTimeout(context.Background(), askAgain)
	defer cancel()
	if _, gone := r.control.Usage(ctx); gone != nil {
		return fmt.Errorf("%w: the server is lost: %w: %w", errStop, gone, err)
	}
	return err
}

// close ends what open has begun.
func (r *runner) close() error {
	var errs []error
	if r.unpin != nil {
		errs = append(errs, r.unpin())
	}
	if r.loopback != nil {
		r.loopback.stop()
	}
	if r.raw != nil {
		r.raw.Close()
	}
	if r.rpc != nil {
		r.rpc.Close()
		<-r.rpc.Done()
	}
	if r.child != nil {
		errs = append(errs, r.child.stop())
	}
	return errors.Join(errs...)
}
