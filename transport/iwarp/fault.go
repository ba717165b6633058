package iwarp

import (
	"net"

	"github.com/rpcrdma/go-rpcrdma/internal/faultlog"
)

// fault logs why there is no connection with a peer, or no more. It reports whether that is the
// first of the kind for a while.
func (c *Config) fault(peer net.Addr, what string, err error) (first bool) {
	return c.faults.Fault(peer, "iwarp: "+what, faultlog.OneOf(err, reasons...), "err", err)
}
