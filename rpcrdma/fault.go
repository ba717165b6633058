package rpcrdma

import (
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/internal/faultlog"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// fault counts and logs a fault of the peer.
func (c *Conn) fault(count *atomic.Uint64, what string, xid uint32, err error) {
	count.Add(1)
	c.cfg.faults.Fault(c.info.RemoteAddr, "rpcrdma: "+what, nil, "xid", xid, "err", err)
}

// logLoss logs that the connection did not end in order.
func (c *Conn) logLoss(err error) {
	reason := faultlog.OneOf(err, ErrCreditsExceeded, ErrStalled, transport.ErrTerminated)
	c.cfg.faults.Fault(c.info.RemoteAddr, "rpcrdma: connection lost", reason, "err", err)
}
