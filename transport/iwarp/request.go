package iwarp

import (
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
)

// refusalTimeout is how long a refused peer may take to close.
const refusalTimeout = time.Second

// request is a peer's request for a connection.
type request struct {
	cfg  *Config
	conn net.Conn
	mpa  *mpa.Request

	answered bool // so conn no longer belongs to this request
}

// Info describes the connection as far as it is known.
func (r *request) Info() transport.Info {
	return transport.Info{
		Provider:    provider,
		LocalAddr:   r.conn.LocalAddr(),
		RemoteAddr:  r.conn.RemoteAddr(),
		PrivateData: r.mpa.PrivateData(),
	}
}

// RequestOf returns what the peer asks for, before it is accepted. The result is read-only: its
// Accept and Reject fail with mpa.ErrSnapshot; use those of r. RequestOf also finds the request if
// r wraps it, and reports false for requests of other providers.
func RequestOf(r transport.Request) (*mpa.Request, bool) {
	for {
		switch w := r.(type) {
		case *request:
			return w.mpa.Snapshot(), true
		case interface{ Unwrap() transport.Request }:
			r = w.Unwrap()
		default:
			return nil, false
		}
	}
}

// Accept accepts the request and returns the endpoint. It may refuse instead, if the peer's IRD is
// below RequiredORD, if the peer's revision of MPA does not suit this side, or if Config.Choose
// says so. Only after an error of prepare, or one that wraps transport.ErrPrivateData, can the
// request still be answered.
func (r *request) Accept(ctx context.Context, prepare transport.Preparation) (
	transport.Endpoint, error) {
	if r.answered {
		return nil, opError("accept", r.conn.RemoteAddr(), mpa.ErrAnswered)
	}
	startup := r.cfg.startup(r.conn)
	if err := r.choose(&startup); err != nil {
		r.answered = true
		r.conn.SetDeadline(time.Now().Add(r.cfg.HandshakeTimeout))
		r.refused(err, r.mpa.Reject(r.cfg.startup(r.conn), nil))
		return nil, opError("accept", r.conn.RemoteAddr(), err)
	}
	ep := newEndpoint(r.cfg, r.Info())
	err := prepare.Connect("accept", ep, func(private []byte) error {
		return r.accept(ctx, startup, private, ep)
	}, ep.discard)
	if err != nil {
		return nil, err
	}
	return ep, nil
}

// accept sends the reply, and connects ep.
func (r *request) accept(ctx context.Context, startup mpa.Config, private []byte,
	ep *endpoint) error {
	stop, err := limit(ctx, r.conn, r.cfg.HandshakeTimeout)
	if err != nil {
		return contextError(ctx, err)
	}
	setup, err := r.mpa.Accept(startup, private)
	stop()
	var failed *mpa.StartupError
	r.answered = err == nil || errors.As(err, &failed)
	switch {
	case err == nil:
		return ep.attach(r.conn, setup)
	case !r.answered: // the caller's fault; it can try again
		return err
	case errors.Is(err, mpa.ErrInsufficientIRD), errors.Is(err, mpa.ErrRevision):
		r.refused(err, nil)
	default:
		atomic.AddUint64(&r.cfg.Counters.stats.HandshakeFailures, 1)
		r.cfg.fault(r.conn.RemoteAddr(), "connection setup failed", err)
		r.conn.Close()
	}
	return contextError(ctx, err)
}

// choose lets Config.Choose decide the reply.
func (r *request) choose(startup *mpa.Config) error {
	if r.cfg.Choose == nil {
		return nil
	}
	if err := r.cfg.Choose(r.conn.RemoteAddr(), r.mpa.Snapshot(), startup); err != nil {
		return err
	}
	return startup.ValidateResponder()
}

// refused ends the connection of a peer that this side has rejected by itself. Failed says why the
// reject could not be sent, if so.
func (r *request) refused(cause, failed error) {
	atomic.AddUint64(&r.cfg.Counters.stats.Rejected, 1)
	r.cfg.fault(r.conn.RemoteAddr(), "connection refused", cause)
	if failed != nil {
		r.conn.Close()
		return
	}
	r.part()
}

// Reject refuses the request.
func (r *request) Reject(private []byte) error {
	if r.answered {
		return opError("reject", r.conn.RemoteAddr(), mpa.ErrAnswered)
	}
	r.conn.SetDeadline(time.Now().Add(r.cfg.HandshakeTimeout))
	err := r.mpa.Reject(r.cfg.startup(r.conn), private)
	var failed *mpa.StartupError
	r.answered = err == nil || errors.As(err, &failed)
	switch {
	case err == nil:
		atomic.AddUint64(&r.cfg.Counters.stats.Rejected, 1)
		r.part()
		return nil
	case r.answered:
		atomic.AddUint64(&r.cfg.Counters.stats.HandshakeFailures, 1)
		r.conn.Close()
	}
	return opError("reject", r.conn.RemoteAddr(), err)
}

// part closes the connection so that the peer can read what was sent: it writes nothing more, and
// reads for a while what the peer still sends. If the connection has no CloseWrite, only the reject
// makes the peer close.
func (r *request) part() {
	if half, ok := r.conn.(interface{ CloseWrite() error }); ok && half.CloseWrite() != nil {
		r.conn.Close()
		return
	}
	r.conn.SetDeadline(time.Now().Add(refusalTimeout))
	go func() {
		_, _ = io.Copy(io.Discard, struct{ io.Reader }{r.conn})
		r.conn.Close()
	}()
}
