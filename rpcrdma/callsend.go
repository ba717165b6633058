package rpcrdma

import (
	"errors"
	"fmt"
	"net"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// transmit chooses an XID, seals the message of the call with it, and sends it. If that fails,
// nothing refers to the call any more, and the peer cannot reach its memory.
func (cl *caller) transmit(k *call) error {
	c := cl.conn
	x := k.x
	for {
		k.xid = x.XID
		for k.xid == 0 {
			k.xid = cl.xid.Add(1)
		}
		if err := x.Seal(k.xid); err != nil {
			return err
		}
		k.describe()
		// Seal may have changed the length, and the two ends may have agreed on new settings while
		// the call waited.
		if s := c.settings.Load(); s != k.settings || x.Call.Len() != k.planned {
			if err := k.layPlan(s); err != nil {
				return err
			}
		}
		err := cl.send(k)
		if err == nil {
			return nil
		}
		k.windows.revoke()
		k.forgetLayout()
		if x.XID != 0 || err != oncrpc.ErrXIDInUse {
			return err
		}
		// The XID belongs to a call that chose it itself, or that began four billion calls ago.
	}
}

// send lays out the call, enters it in the table, and posts a receive for its reply and its Send.
// If that fails, nothing refers to the call.
func (cl *caller) send(k *call) error {
	c := cl.conn
	err := k.layout()
	if errors.Is(err, chunks.ErrHeader) || errors.Is(err, transport.ErrNoMemory) {
		// Try again with as few windows as possible.
		k.windows.revoke()
		k.forgetLayout()
		k.copies = true
		err = k.layout()
	}
	if err != nil {
		return err
	}
	c.mu.Lock()
	if c.err != nil {
		defer c.mu.Unlock()
		return c.err
	}
	if cl.pending.get(k.xid) != nil {
		c.mu.Unlock()
		return oncrpc.ErrXIDInUse
	}
	cl.pending.add(k)
	if err := c.flow.expectReply(); err != nil {
		cl.pending.remove(k)
		c.mu.Unlock()
		return fmt.Errorf("no receive for the reply: %w", err)
	}
	k.refs.Add(2) // the table's and the Send's
	c.mu.Unlock()

	c.countCall(&k.info, 1)
	if err := cl.post(k); err != nil {
		k.unposted = true
		c.countCall(&k.info, -1)
		k.info.unsent()
		k.unref()
		if !errors.Is(err, net.ErrClosed) {
			c.fail(err)
		}
		// The end of the connection ends the call.
	}
	return nil
}

// post posts the Send of a call.
func (cl *caller) post(k *call) error {
	q := &cl.conn.queue
	if cl.limited {
		return q.postCounted(k.sendArgs[:], cl.window, &k.credit)
	}
	return q.post(k.sendArgs[:])
}
