package rpcrdma

import (
	"fmt"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// abandon gives a call up whose reply has not come. On return the caller's memory is no
// longer touched: the peer may still write to it, and finds a sink; it may still
// read from it, and finds a copy. The credit and the receive stay the call's until its reply comes.
//
// Where that is not to be had, the peer gets CancelGrace for the reply; then the connection is
// closed.
func (cl *caller) abandon(k *call) {
	c := cl.conn
	c.stats.cancelled.Add(1)
	if !k.windows.abandon() {
		t := time.NewTimer(c.cfg.CancelGrace)
		defer t.Stop()
		select {
		case <-k.done:
		case <-t.C:
			c.fail(fmt.Errorf("call cancelled and not answered within %v", c.cfg.CancelGrace))
			<-k.done
		}
		k.windows.revoke()
		return
	}
	c.mu.Lock()
	waits := cl.pending.get(k.xid) == k
	if waits {
		k.abandoned = true
	}
	c.mu.Unlock()
	if !waits { // it ended meanwhile
		<-k.done
		k.windows.revoke()
	}
}

// endWindows ends the windows of an abandoned call, and lets go of it then.
func (k *call) endWindows() {
	waits, err := k.c.invalidate(&k.chain, k.windows.regions, k.windows.ended, (*callWindowsEnded)(k))
	switch {
	case err != nil:
		k.c.fail(err)
		k.c.whenEnded(k.windows.regions, k.letGo)
	case !waits:
		k.letGo()
	}
}

// callWindowsEnded is told that the windows of an abandoned call have ended.
type callWindowsEnded call

// Complete lets go of the call when the last of them has.
func (e *callWindowsEnded) Complete(wr *transport.WorkRequest, err error) {
	k := (*call)(e)
	k.c.queue.completed()
	switch {
	case !isLast(wr):
	case err != nil:
		k.c.fail(err)
		k.c.whenEnded(k.windows.regions, k.letGo)
	default:
		k.letGo()
	}
}

// letGo gives back what was behind the windows of an abandoned call.
func (k *call) letGo() {
	k.chain = k.chain.cleared()
	k.windows.releaseAll()
	if k.late {
		k.c.stats.lateReplies.Add(1)
	}
	k.unref()
}
