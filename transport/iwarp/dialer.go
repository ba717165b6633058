package iwarp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// Dialer connects to iWARP peers, by default over TCP. The zero value is ready to use.
type Dialer struct {
	Config Config

	// DialContext, if not nil, makes the underlying connections in place of a net.Dialer. It gets
	// the network "tcp", and the context and address of Dial. For example, the DialContext of a
	// tls.Dialer encrypts iWARP. NewListener says what a connection must be like. Config.Control is
	// not called.
	//
	// If the peer does not know enhanced setup, Dial calls it again, for a second attempt without.
	// A net.Dialer should have a FallbackDelay of -1. Otherwise it may try two addresses at once
	// and close one connection without sending anything, which Linux's siw does not survive.
	DialContext func(ctx context.Context, network, addr string) (net.Conn, error)
}

var _ transport.Dialer = Dialer{}

// Dial calls prepare, connects to addr, "host:port" for TCP, and sends the peer the private data:
// at most mpa.MaxPrivateData bytes or Config.PrivateLimit, four fewer in an enhanced setup. Linux
// drops connections with more than 256. If the peer refuses, the error wraps *mpa.RejectError and
// *transport.RejectError.
func (d Dialer) Dial(ctx context.Context, addr string, prepare transport.Preparation) (
	transport.Endpoint, error) {
	cfg, err := d.Config.forDialer()
	if err != nil {
		return nil, opError("dial", nil, err)
	}
	ep := newEndpoint(&cfg, transport.Info{})
	// It prepares before there is a connection: one that is closed without sending anything kills
	// the port of Linux's siw.
	err = prepare.Connect("dial", ep, func(private []byte) error {
		return d.dial(ctx, addr, private, ep)
	}, ep.discard)
	if err != nil {
		return nil, err
	}
	return ep, nil
}

// dial connects ep, in a second attempt if need be.
func (d Dialer) dial(ctx context.Context, addr string, private []byte, ep *endpoint) error {
	cfg, below := ep.cfg, d.DialContext
	startup := cfg.startup(nil)
	if err := startup.ValidateInitiator(private); err != nil {
		return err
	}
	if below == nil {
		// Try one address after the other. With two at once, one connection is closed without
		// sending anything, and that kills the port of Linux's siw.
		below = (&net.Dialer{Control: cfg.Control, FallbackDelay: -1}).DialContext
	}
	err := ep.dial(ctx, below, addr, private)
	if errors.Is(err, mpa.ErrUnenhanced) && cfg.Enhanced == mpa.EnhancedAuto &&
		!cfg.PeerToPeer && !cfg.ManualReads {
		// RFC 6581 section 10: the peer knows RFC 5044 only.
		cfg.Enhanced = mpa.EnhancedNever
		if err = ep.dial(ctx, below, addr, private); err != nil {
			err = fmt.Errorf("%w (tried in revision 1: %v)", err, mpa.ErrUnenhanced)
		}
	}
	return err
}

// connect makes a connection for MPA to use.
type connect func(ctx context.Context, network, addr string) (net.Conn, error)

// dial connects e in one attempt.
func (e *endpoint) dial(ctx context.Context, below connect, addr string, private []byte) error {
	conn, err := below(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	e.info.RemoteAddr = conn.RemoteAddr()
	if err := e.initiate(ctx, conn, private); err != nil {
		return contextError(ctx, err)
	}
	return nil
}

// initiate connects e by a connection, as the side that asks.
func (e *endpoint) initiate(ctx context.Context, conn net.Conn, private []byte) error {
	c := e.cfg
	stop, err := limit(ctx, conn, c.HandshakeTimeout)
	if err != nil {
		conn.Close()
		return err
	}
	setup, err := mpa.Initiate(conn, c.startup(conn), private)
	stop()
	if err == nil {
		return e.attach(conn, setup)
	}
	var (
		failed  *mpa.StartupError
		refused *mpa.RejectError
	)
	switch {
	case errors.As(err, &failed) && failed.Terminate:
		atomic.AddUint64(&c.Counters.stats.HandshakeFailures, 1)
		go c.sendTerminate(conn, failed) // the caller of Dial need not wait for that
		return err
	case errors.As(err, &failed):
		atomic.AddUint64(&c.Counters.stats.HandshakeFailures, 1)
	case errors.As(err, &refused):
		atomic.AddUint64(&c.Counters.stats.Rejected, 1)
		err = &rejected{refused}
	}
	conn.Close()
	return err
}

// sendTerminate tells a responder that has accepted why this side cannot go on (RFC 6581 sections 8
// and 9).
func (c *Config) sendTerminate(conn net.Conn, cause *mpa.StartupError) {
	llp, err := newLLP(conn, mpa.ConnOptions{
		CRC: cause.CRC, MarkersOut: cause.Markers, MaxSegment: minSegment, Stall: c.StallTimeout,
	})
	if err != nil {
		conn.Close()
		return
	}
	t := rdmap.Terminate{Code: rdmap.MPAClosed&^0xff | rdmap.Code(cause.Code), Draft05: c.Draft05}
	appendTerminate(llp, ddp.Version, t.Append(nil))
	atomic.AddUint64(&c.Counters.stats.TerminatesSent, 1)
	llp.Close(true)
}

// rejected is a refusal in terms of both package mpa and package transport.
type rejected struct{ *mpa.RejectError }

func (r *rejected) Unwrap() []error {
	return []error{r.RejectError, &transport.RejectError{PrivateData: r.RejectError.PrivateData}}
}

// contextError returns the error of ctx if ctx has ended, and err otherwise. The deadline of ctx is
// also set on the connection, where it may pass first.
func contextError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if t, ok := ctx.Deadline(); ok && !time.Now().Before(t) {
		return context.DeadlineExceeded
	}
	return err
}

// limit bounds operations on conn by d and by ctx, until stop is called.
func limit(ctx context.Context, conn net.Conn, d time.Duration) (stop func(), err error) {
	deadline := time.Now().Add(d)
	if t, ok := ctx.Deadline(); ok && t.Before(deadline) {
		deadline = t
	}
	if err := conn.SetDeadline(deadline); err != nil {
		return nil, err
	}
	interrupted := make(chan struct{})
	interrupt := context.AfterFunc(ctx, func() {
		defer close(interrupted)
		conn.SetDeadline(time.Unix(1, 0))
	})
	return func() {
		if !interrupt() {
			<-interrupted // or it would set its deadline on what follows
		}
	}, nil
}
