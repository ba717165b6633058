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

// carrier is a connection that is an LLP by itself, when it has been set up: a *sctp.Conn.
type carrier interface {
	mpa.FrameConn
	LLP(stall time.Duration) ddp.LLP

	// Silent reports whether the startup sends nothing. The peer knows of the connection when
	// something else comes, which the initiator sees to.
	Silent() bool
}

// newLLP returns the LLP of a connection on which the startup is complete.
func newLLP(conn net.Conn, o mpa.ConnOptions) (ddp.LLP, error) {
	if c, ok := conn.(carrier); ok {
		return c.LLP(o.Stall), nil
	}
	return mpa.NewConn(conn, o)
}

// endpoint makes an endpoint of a connection on which the startup is complete.
func (c *Config) endpoint(conn net.Conn, setup *mpa.Setup) (*endpoint, error) {
	if own, ok := conn.(carrier); ok {
		// What MPA has beside what RFC 6581 section 7 has in common.
		setup.CRC, setup.MarkersIn, setup.MarkersOut = false, false, false
		setup.EitherFirst = setup.RTR == 0
		if own.Silent() && setup.Initiator {
			setup.RTR = ddp.RTRWrite
		}
	}
	llp, err := newLLP(conn, mpa.ConnOptions{
		CRC: setup.CRC, MarkersIn: setup.MarkersIn, MarkersOut: setup.MarkersOut,
		MaxSegment: c.MaxSegment, Stall: c.StallTimeout,
	})
	if err != nil {
		conn.Close()
		return nil, err
	}
	info := transport.Info{LocalAddr: conn.LocalAddr(), RemoteAddr: conn.RemoteAddr()}
	return newEndpoint(llp, &setup.Setup, setup, c, info), nil
}

// SetupOf returns what was agreed on when the connection of ep was set up, also if ep
// wraps it (transport.As). It reports false for endpoints of other providers.
func SetupOf(ep transport.Endpoint) (mpa.Setup, bool) {
	if e, ok := transport.As[*endpoint](ep); ok {
		if setup, ok := e.details.(*mpa.Setup); ok {
			return *setup, true
		}
	}
	return mpa.Setup{}, false
}

// reasons are told apart in the log, so that a scan of ports does not hide what is wrong with a
// client of the same host. What wraps two counts for the first.
var reasons = []error{
	mpa.ErrNotMPA, mpa.ErrRevision, mpa.ErrEnhanced, mpa.ErrInsufficientIRD, mpa.ErrFrame,
	mpa.ErrCRC, mpa.ErrMarker, mpa.ErrStalled, mpa.ErrLength,
	io.ErrUnexpectedEOF, syscall.ECONNRESET, os.ErrDeadlineExceeded,
}
