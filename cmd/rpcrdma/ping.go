package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

// pinger is a ping under way.
type pinger struct {
	flags  *pingFlags
	target target
	server *remoteServer // for how to connect
	out    io.Writer

	conn     oncrpc.Transport // nil: there is none
	began    time.Time
	calls    int
	answered *hdrhistogram.Histogram // in nanoseconds
}

func newPinger(flags *pingFlags, t target, out io.Writer) *pinger {
	return &pinger{
		flags:    flags,
		target:   t,
		server:   &remoteServer{flags: flags.connections, target: t, cred: oncrpc.AuthNone()},
		out:      out,
		answered: hdrhistogram.New(1, int64(time.Hour), 3),
	}
}

// run calls until there have been enough calls, or ctx ends.
func (p *pinger) run(ctx context.Context) error {
	at, err := p.connect(ctx)
	if err != nil {
		return p.explain(ctx, at, err)
	}
	defer p.disconnect()
	if _, err := fmt.Fprintf(p.out, "%s at %s: NULL of program %d version %d; connected in %s\n",
		p.target.server(), p.conn.RemoteAddr(), p.flags.program, p.flags.version, pingTime(time.Since(p.began))); err != nil {
		return err
	}
	p.began = time.Now()
	next := time.NewTimer(0)
	defer next.Stop()
	for p.calls < p.flags.count.n {
		select {
		case <-ctx.Done():
			return p.summary()
		case <-next.C:
		}
		next.Reset(p.flags.interval.Duration)
		if err := p.call(ctx); err != nil {
			return err
		}
	}
	return p.summary()
}

// connect connects, and tells where the server was found.
func (p *pinger) connect(ctx context.Context) (at target, err error) {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	p.began = time.Now()
	f := p.flags.connections
	at, err = p.target.found(ctx, iwarp.Config{Logger: quiet, CRC: f.crc.value}, rpcrdma.Config{Logger: quiet, Dialect: f.dialect.value})
	if err == nil {
		p.conn, err = p.server.dialScheme(ctx, at)
	}
	return at, err
}

// explain says of an error what to do next.
func (p *pinger) explain(ctx context.Context, at target, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	return explainer{asked: p.target.rpcbind != 0}.explain(at, err)
}

// call makes a call, connected anew if need be, and prints how long it took, or why there is no answer. The error is that of printing, or an
// answer of the server that all calls would get.
func (p *pinger) call(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, p.flags.timeout.Duration)
	defer cancel()
	begin := time.Now()
	var err error
	if p.conn == nil {
		_, err = p.connect(limited)
		begin = time.Now()
	}
	if err == nil {
		err = oncrpc.NewClient(p.conn, uint32(p.flags.program), uint32(p.flags.version), oncrpc.AuthNone()).Call(limited, 0, nil, nil)
	}
	took := time.Since(begin)
	var text string
	switch {
	case err != nil && ctx.Err() != nil: // interrupted
		return nil
	case errors.As(err, new(*oncrpc.AuthError)):
		return fmt.Errorf("%s denies calls without credentials: %w", p.target.server(), bottom(err))
	case answered(err):
		return fmt.Errorf("%s does not have program %d version %d: %w", p.target.server(), p.flags.program, p.flags.version, bottom(err))
	case err != nil:
		text = "no answer: " + endReason(err)
		p.reconnect()
	default:
		_ = p.answered.RecordValue(max(1, int64(took))) // an hour is out of reach
		text = "time=" + pingTime(took)
	}
	p.calls++
	_, err = fmt.Fprintf(p.out, "seq=%d %s\n", p.calls, text)
	return err
}

// reconnect gives up the connection, if it has ended.
func (p *pinger) reconnect() {
	if p.conn != nil && p.conn.Err() != nil {
		p.disconnect()
	}
}

func (p *pinger) disconnect() {
	if p.conn != nil {
		end(p.conn)
		p.conn = nil
	}
}

// summary prints what all calls have come to.
func (p *pinger) summary() error {
	n := int(p.answered.TotalCount())
	lost := 0.0
	if p.calls > 0 {
		lost = 100 * float64(p.calls-n) / float64(p.calls)
	}
	text := fmt.Sprintf("\n%d calls, %d answered, %.3g%% lost, in %s\n", p.calls, n, lost, pingTime(time.Since(p.began)))
	if n > 0 {
		at := func(percentile float64) string {
			return pingTime(time.Duration(p.answered.ValueAtPercentile(percentile)))
		}
		text += fmt.Sprintf("min %s, p50 %s, p99 %s, max %s\n", pingTime(time.Duration(p.answered.Min())), at(50), at(99), at(100))
	}
	if _, err := io.WriteString(p.out, text); err != nil {
		return err
	}
	if n == 0 && p.calls > 0 {
		return errReported
	}
	return nil
}

// pingTime writes a time with three digits or so.
func pingTime(d time.Duration) string {
	switch {
	case d < 100*time.Microsecond:
		return d.Round(100 * time.Nanosecond).String()
	case d < time.Millisecond:
		return d.Round(time.Microsecond).String()
	case d < 10*time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	}
	return d.Round(10 * time.Millisecond).String()
}
