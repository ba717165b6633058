package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/control"
	"github.com/rpcrdma/go-rpcrdma/bench/host"
	"github.com/rpcrdma/go-rpcrdma/bench/program"
	"github.com/rpcrdma/go-rpcrdma/bench/raw"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
)

// Run measures o.Grid. It returns a result, without crossovers and recommendation (see [Conclude]),
// whenever it has measured something, even beside an error. The error joins the failures of points,
// the end of ctx, or a [*LostError]. A [*MemoryError] means that no point fits in the memory.
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
	var lost *LostError
	if errors.As(err, &lost) {
		lost.Points = len(r.result.Measured)
	}
	err = errors.Join(err, r.close(lost))
	r.result.Took = time.Since(r.result.Began)
	if len(r.result.Measured) == 0 {
		return nil, r.nothing(ctx, err)
	}
	return &r.result, err
}

// nothing explains why nothing was measured, if err is nil or incomplete.
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

// runner is the state of a run.
type runner struct {
	o      Options
	result Result

	addr, host string      // of the server
	child      *host.Child // nil if the server was running already
	rpc        *recordmark.Conn
	control    *control.Client
	info       *control.Info
	raw        *raw.Client
	loopback   *local
	unpin      func() error
	meter      host.Meter // of this process
	sameHost   bool       // client and server are on one host

	datagrams atomic.Int64 // bytes of RoCE packets

	payload, copied []byte // what is sent, and the target of copies
	copies, streams yardsticks
}

// opening is how long a server may take to answer the first calls.
const opening = 10 * time.Second

// open connects to the server, and starts it first if necessary.
func (r *runner) open(ctx context.Context) (err error) {
	r.addr = r.o.Server
	r.result.Server = r.addr
	if r.addr == "" {
		if r.child, r.addr, err = startChild(ctx, r.o.Command, r.o.ServerCPUs); err != nil {
			return err
		}
		r.result.Server = "another process on this host"
	}
	if r.host, _, err = net.SplitHostPort(r.addr); err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, opening)
	defer cancel()
	d := net.Dialer{Control: r.o.Sockets.Control}
	conn, err := d.DialContext(ctx, "tcp", r.addr)
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	ours, _, _ := net.SplitHostPort(conn.LocalAddr().String())
	theirs, _, _ := net.SplitHostPort(conn.RemoteAddr().String())
	r.sameHost = ours == theirs
	if r.rpc, err = recordmark.NewConn(conn, recordmark.Config{Logger: r.o.Logger}); err != nil {
		conn.Close()
		return fmt.Errorf("bench: %w", err)
	}
	r.control = control.NewClient(r.rpc)
	if r.info, err = r.control.Info(ctx); err != nil {
		return fmt.Errorf("bench: %s is not a bench server, or has another version: %w", r.addr, err)
	}
	r.payload, r.copied = host.Pattern(program.MaxPayload), host.Pattern(program.MaxPayload)
	at := net.JoinHostPort(r.host, strconv.Itoa(int(r.info.RawPort)))
	if r.raw, err = raw.Dial(ctx, at, r.o.Sockets, r.payload); err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	if r.loopback, err = startLocal(r.o.Memory, r.o.Trace, r.o.Logger); err != nil {
		return err
	}
	if len(r.o.ClientCPUs) > 0 {
		if r.unpin, err = host.Pin(r.o.ClientCPUs...); err != nil {
			return fmt.Errorf("bench: %w", err)
		}
	}
	return nil
}

// close undoes open. If the server was lost, it notes in lost how the server's process ended.
func (r *runner) close(lost *LostError) error {
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
	if r.child == nil {
		return errors.Join(errs...)
	}
	wait := host.Grace
	if lost != nil && errors.Is(lost.Err, ErrSilent) {
		wait = 0
	}
	switch ended := r.child.Stop(wait); {
	case ended == nil:
	case lost == nil:
		errs = append(errs, fmt.Errorf("bench: the server: %w", ended))
	case wait > 0:
		lost.Err = ended
	}
	return errors.Join(errs...)
}
