package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/remote"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// Pinger is a running ping.
type Pinger struct {
	flags   *PingFlags
	target  reach.Target
	server  *remote.Server // for how to connect
	out     io.Writer      // for each call
	results io.Writer

	address   string           // of the server
	conn      oncrpc.Transport // nil: there is none
	connected bool             // there has been one
	flavor    oncrpc.ClientFlavor
	began     time.Time
	Calls     int
	answered  *hdrhistogram.Histogram // in nanoseconds
	min, max  time.Duration           // exactly
}

// NewPinger returns a Pinger that has made no calls.
func NewPinger(flags *PingFlags, t reach.Target, out io.Writer) *Pinger {
	each := out
	if flags.json {
		each = io.Discard
	}
	return &Pinger{
		results:  out,
		flags:    flags,
		target:   t,
		server:   &remote.Server{Flags: flags.connections, Target: t, Cred: oncrpc.AuthNone()},
		flavor:   oncrpc.AuthNone(),
		out:      each,
		answered: hdrhistogram.New(1, int64(longestPing), 3),
	}
}

// run calls --count times, or until ctx ends.
func (p *Pinger) run(ctx context.Context) error {
	defer p.end(ctx)
	if p.target.Sec != 0 {
		var err error
		if p.server.Cred, err = p.flags.connections.Cred(); err != nil {
			return err
		}
		if p.flavor, err = p.server.Flavor(p.target.Sec); err != nil {
			return err
		}
	}
	p.began = time.Now()
	next := time.NewTimer(0)
	defer next.Stop()
	for p.Calls < p.flags.count.N {
		select {
		case <-ctx.Done():
			return p.Summary()
		case <-next.C:
		}
		next.Reset(p.flags.interval.Duration)
		if err := p.call(ctx); err != nil {
			return err
		}
	}
	return p.Summary()
}

// connect connects, if there is no connection. late says that it took longer than --timeout. Any
// other error of the first time would fail all calls, and is explained.
func (p *Pinger) connect(ctx context.Context) (late bool, err error) {
	if p.conn != nil {
		return false, nil
	}
	begin := time.Now()
	limited, cancel := context.WithTimeout(ctx, p.flags.timeout.Duration)
	defer cancel()
	f := p.flags.connections
	at, err := p.target.Found(limited, f.RDMA(), rpcrdma.Config{Logger: reach.Quiet, Dialect: f.Dialect.Value})
	if err == nil {
		p.conn, err = p.server.DialScheme(limited, at)
	}
	late = time.Since(begin) >= p.flags.timeout.Duration
	switch {
	case err != nil && (p.connected || p.Calls > 0 || late):
		return late, err
	case err != nil:
		return false, words.Explainer{Asked: p.target.Rpcbind != 0}.Explain(at, err)
	case p.connected:
		return false, nil
	}
	p.connected = true
	p.address = p.conn.RemoteAddr().String()
	_, err = fmt.Fprintf(p.out, "%s at %s: NULL of program %d version %d; connected in %s\n",
		p.target.Server(), p.conn.RemoteAddr(), p.flags.program, p.flags.version, pingTime(time.Since(begin)))
	return false, err
}

// call makes a call, and connects again if necessary. It prints how long the call took, or why
// there is no answer. The error is that of printing, or one that all calls would get.
func (p *Pinger) call(ctx context.Context) error {
	first := !p.connected && p.Calls == 0
	late, err := p.connect(ctx)
	if err != nil && ctx.Err() != nil { // interrupted
		return nil
	}
	var text string
	switch {
	case late:
		text = fmt.Sprintf("no answer: no connection to %s within %v", p.target.Server(), p.flags.timeout)
	case err != nil && first:
		return err
	case err != nil:
		text = "no answer: " + words.EndReason(err)
	default:
		if text, err = p.null(ctx); text == "" {
			return err
		}
	}
	p.Calls++
	_, err = fmt.Fprintf(p.out, "seq=%d %s\n", p.Calls, text)
	return err
}

// null calls NULL over the connection, and returns the line to print. The line is empty after an
// interrupt, or if all calls would get the error.
func (p *Pinger) null(ctx context.Context) (string, error) {
	limited, cancel := context.WithTimeout(ctx, p.flags.timeout.Duration)
	defer cancel()
	begin := time.Now()
	client := oncrpc.NewClient(p.conn, uint32(p.flags.program), uint32(p.flags.version), p.flavor)
	err := client.Call(limited, 0, nil, nil)
	took := time.Since(begin)
	switch {
	case err == nil:
		p.Record(took)
		return "time=" + pingTime(took), nil
	case ctx.Err() != nil: // interrupted
		return "", nil
	case errors.As(err, new(*oncrpc.AuthError)):
		what := "without credentials"
		if p.target.Sec != 0 {
			what = "with sec=" + p.target.Sec.String()
		}
		return "", fmt.Errorf("%s denies calls %s: %w", p.target.Server(), what, words.Bottom(err))
	case reach.Answered(err):
		return "", fmt.Errorf("%s does not have program %d version %d: %w", p.target.Server(), p.flags.program,
			p.flags.version, words.Bottom(err))
	}
	p.reconnect()
	return "no answer: " + words.EndReason(err), nil
}

// Record adds the time of an answered call.
func (p *Pinger) Record(took time.Duration) {
	if p.answered.TotalCount() == 0 {
		p.min = took
	}
	p.min, p.max = min(p.min, took), max(p.max, took)
	// It fails only for values out of range.
	_ = p.answered.RecordValue(int64(min(max(took, 1), longestPing)))
}

// longestPing is the longest time that the histogram distinguishes.
const longestPing = time.Hour

// reconnect drops the connection if it has ended.
func (p *Pinger) reconnect() {
	if p.conn != nil && p.conn.Err() != nil {
		p.disconnect()
	}
}

// end destroys the contexts, and closes the connection.
func (p *Pinger) end(ctx context.Context) {
	if p.conn != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reach.UnmountTime)
		defer cancel()
		p.server.Forget(ctx, p.conn)
		p.disconnect()
	}
}

func (p *Pinger) disconnect() {
	if p.conn != nil {
		reach.End(p.conn)
		p.conn = nil
	}
}

// Summary prints the result of all calls.
func (p *Pinger) Summary() error {
	if p.flags.json {
		if err := p.writeJSON(); err != nil {
			return err
		}
		if p.answered.TotalCount() == 0 {
			return cli.ErrReported
		}
		return nil
	}
	n := int(p.answered.TotalCount())
	lost, calls := 0.0, "calls"
	if p.Calls > 0 {
		lost = 100 * float64(p.Calls-n) / float64(p.Calls)
	}
	if p.Calls == 1 {
		calls = "call"
	}
	text := fmt.Sprintf("\n%d %s, %d answered, %.3g%% lost, in %s\n", p.Calls, calls, n, lost,
		pingTime(time.Since(p.began)))
	if n > 0 {
		at := func(n float64) string { return pingTime(p.percentile(n)) }
		text += fmt.Sprintf("min %s, p50 %s, p99 %s, max %s\n", pingTime(p.min), at(50), at(99), pingTime(p.max))
	}
	if _, err := io.WriteString(p.out, text); err != nil {
		return err
	}
	if n == 0 {
		return cli.ErrReported
	}
	return nil
}

// percentile returns the time within which n percent of the answers came. A bucket of the histogram
// may reach beyond the largest value, hence the bounds.
func (p *Pinger) percentile(n float64) time.Duration {
	return min(max(time.Duration(p.answered.ValueAtPercentile(n)), p.min), p.max)
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
