package iwarp

import (
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
)

// carrier is a connection that becomes an LLP by itself after the setup: a *sctp.Conn.
type carrier interface {
	mpa.FrameConn
	LLP(stall time.Duration) ddp.LLP

	// Silent reports whether the startup sends nothing. The peer then learns of the connection from
	// the first other message, so the initiator sends one.
	Silent() bool
}

// newLLP returns the LLP of a connection whose startup is complete.
func newLLP(conn net.Conn, o mpa.ConnOptions) (ddp.LLP, error) {
	if c, ok := conn.(carrier); ok {
		return c.LLP(o.Stall), nil
	}
	return mpa.NewConn(conn, o)
}

// attach connects e by a connection whose startup is complete.
func (e *endpoint) attach(conn net.Conn, setup *mpa.Setup) error {
	if own, ok := conn.(carrier); ok {
		// MPA has these, but not what RFC 6581 section 7 shares with other LLPs.
		setup.CRC, setup.MarkersIn, setup.MarkersOut = false, false, false
		setup.EitherFirst = setup.RTR == 0
		if own.Silent() && setup.Initiator {
			setup.RTR = ddp.RTRWrite
		}
	}
	llp, err := newLLP(conn, mpa.ConnOptions{
		CRC: setup.CRC, MarkersIn: setup.MarkersIn, MarkersOut: setup.MarkersOut,
		MaxSegment: e.cfg.MaxSegment, Stall: e.cfg.StallTimeout,
	})
	if err != nil {
		conn.Close()
		return err
	}
	e.connect(conn, llp, &setup.Setup, setup)
	return nil
}

// SetupOf returns what was agreed on when the connection of ep was set up, also if ep wraps it
// (transport.As). It reports false for endpoints of other providers, and before the setup.
func SetupOf(ep transport.Endpoint) (mpa.Setup, bool) {
	if e, ok := transport.As[*endpoint](ep); ok {
		if setup, ok := e.details.(*mpa.Setup); ok {
			return *setup, true
		}
	}
	return mpa.Setup{}, false
}

// reasons are kept apart in the log, so that a port scan does not hide a fault of a client on the
// same host. An error that wraps two counts as the first.
var reasons = []error{
	mpa.ErrNotMPA, mpa.ErrRevision, mpa.ErrEnhanced, mpa.ErrInsufficientIRD, mpa.ErrFrame,
	mpa.ErrCRC, mpa.ErrMarker, mpa.ErrStalled, mpa.ErrLength,
	io.ErrUnexpectedEOF, syscall.ECONNRESET, os.ErrDeadlineExceeded,
}
