package iwarp

import (
	"net"

	"github.com/rpcrdma/go-rpcrdma/internal/faultlog"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
)

// reasons are told apart in the log; what wraps two counts for the first.
var reasons = []error{
	mpa.ErrNotMPA, mpa.ErrRevision, mpa.ErrEnhanced, mpa.ErrInsufficientIRD, mpa.ErrFrame, mpa.ErrCRC, mpa.ErrMarker, mpa.ErrStalled, mpa.ErrLength,
}

// fault logs why there is no connection with a peer, or no more. It reports whether that is the first of the kind for a while.
func (c *Config) fault(peer net.Addr, what string, err error) (first bool) {
	return c.faults.Fault(peer, "iwarp: "+what, faultlog.OneOf(err, reasons...), "err", err)
}
