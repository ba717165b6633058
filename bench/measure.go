package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/host"
	"github.com/rpcrdma/go-rpcrdma/bench/rounds"
)

// measure measures the yardsticks and the points.
func (r *runner) measure(ctx context.Context) error {
	memory := min(r.o.Memory, int64(min(r.info.Memory, 1<<62)))
	g := r.o.Grid.within(memory)
	r.result.Grid, r.result.LeftOut = g.Name, g.LeftOut
	r.result.Conditions = r.conditions()
	if len(g.Points) == 0 {
		return &MemoryError{Least: r.o.Grid.least(), Memory: memory, Server: memory < r.o.Memory}
	}
	until := time.Now().Add(r.o.Time)
	share := min(r.o.Time/20, 20*r.o.MaxPerRound, 3*time.Second)
	if err := r.beside(ctx, share, func() error { return r.measureYardsticks(g, share) }); err != nil {
		return err
	}
	err := r.o.sweep(ctx, g, until, &r.result, r.point)
	r.result.Yardsticks.Copy, r.result.Yardsticks.TCP = r.copies.figures(), r.streams.figures()
	return err
}

// beside runs a measurement over raw TCP that should take d.
func (r *runner) beside(ctx context.Context, d time.Duration, measure func() error) error {
	ctx, done := r.watched(ctx, d)
	defer done()
	stop := context.AfterFunc(ctx, func() { r.raw.Close() })
	defer stop()
	if err := measure(); err != nil {
		return r.lost(ctx, fmt.Errorf("bench: raw TCP: %w", err))
	}
	return nil
}

// aside is the most time that the yardstick, and the warming up, each take from a point's share.
const aside = time.Second / 2

// point measures one round of a point and, before it, the yardstick. Both together take about
// share.
func (r *runner) point(ctx context.Context, p Point, share time.Duration) (m Measurement, err error) {
	until := time.Now().Add(share)
	m.Point = p
	begin, err := r.used(ctx, share)
	if err != nil {
		return m, err
	}
	var beside float64
	err = r.beside(ctx, share, func() (err error) {
		beside, err = r.yardstick(p, min(share/6, aside))
		return err
	})
	if err != nil {
		return m, err
	}
	ctx, done := r.watched(ctx, share)
	defer done()
	f, err := r.dial(ctx, p)
	if err != nil {
		return m, r.lost(ctx, err)
	}
	defer f.close()
	// The end of ctx closes the connections, which ends the calls. Giving each call a context would
	// cost more.
	stop := context.AfterFunc(ctx, f.close)
	defer stop()

	l := newLoad(f, p, r.payload)
	err = l.start(context.Background(), min(share/6, aside))
	var wire int64
	var client, server host.Usage
	if err == nil {
		wire = f.wire()
		if server, err = r.control.Usage(ctx); err == nil {
			client = r.meter.UsedBusy()
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
		return m, r.lost(ctx, err)
	}
	end := used{client: r.meter.UsedBusy(), at: time.Now()}
	if end.server, err = r.control.Usage(ctx); err != nil {
		return m, r.lost(ctx, err)
	}
	m.Client = end.client.Since(client)
	m.Client.Conns = p.Conns
	if p.Path != Loopback {
		m.ServerUsage = end.server.Since(server)
	}
	m.WireBytes = f.wire() - wire
	m.Calls, m.Elapsed, m.Latency = l.times.count(), elapsed, l.times.latency()
	if beside > 0 {
		m.Ratio = m.Throughput() / beside
	}
	m.Rounds = []Round{{m.Calls, m.Elapsed, rounds.Mark{Yardstick: beside, Others: r.others(begin, end)}}}
	return m, nil
}
