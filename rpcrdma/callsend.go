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
	l, x := cl.l, k.x
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
		if s := l.settings.Load(); s != k.settings || x.Call.Len() != k.planned {
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
	l := cl.l
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
	if err := cl.enter(k); err != nil {
		return err
	}
	l.countCall(&k.info, 1)
	if err := cl.post(k); err != nil {
		k.unposted = true
		l.countCall(&k.info, -1)
		k.info.unsent()
		k.unref()
		if !errors.Is(err, net.ErrClosed) {
			l.fail(err)
		}
		// The end of the connection ends the call.
	}
	return nil
}

// enter enters a call in the table, with references for that and for its Send, and posts a receive
// for its reply.
func (cl *caller) enter(k *call) error {
	l := cl.l
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return l.err
	}
	if cl.pending.get(k.xid) != nil {
		return oncrpc.ErrXIDInUse
	}
	if err := l.receives.Expect(); err != nil {
		return fmt.Errorf("no receive for the reply: %w", err)
	}
	cl.pending.add(k)
	k.refs.Add(2)
	return nil
}

// post posts the Send of a call.
func (cl *caller) post(k *call) error {
	q := &cl.l.queue
	if cl.limited {
		return q.PostCounted(k.sendArgs[:], cl.window, &k.credit)
	}
	return q.Post(k.sendArgs[:])
}
