package iwarp

import (
	"net"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
)

// endpoint makes an endpoint of a connection on which the startup is complete.
func (c *Config) endpoint(conn net.Conn, setup *mpa.Setup) (*endpoint, error) {
	llp, err := mpa.NewConn(conn, mpa.ConnOptions{
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

// reasons are told apart in the log; what wraps two counts for the first.
var reasons = []error{
	mpa.ErrNotMPA, mpa.ErrRevision, mpa.ErrEnhanced, mpa.ErrInsufficientIRD, mpa.ErrFrame,
	mpa.ErrCRC, mpa.ErrMarker, mpa.ErrStalled, mpa.ErrLength,
}
