package iwarp

import (
	"net"

	"github.com/rpcrdma/go-rpcrdma/internal/faultlog"
)

// fault logs why there is no connection with a peer, or no longer. It reports whether this is the
// first such fault for a while.
func (c *Config) fault(peer net.Addr, what string, err error) (first bool) {
	return c.faults.Fault(peer, "iwarp: "+what, faultlog.OneOf(err, reasons...), "err", err)
}
