package rpcrdma

import (
	"fmt"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// abandon cancels a call whose reply has not come. When it returns, the caller's memory is no
// longer touched: the peer may still write, but to a sink, and may still read, but from a copy. The
// call keeps its credit and its receive until its reply comes.
//
// If the provider cannot do that, the peer gets CancelGrace to reply. Then the connection is
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

// endWindows invalidates the windows of an abandoned call, and then gives its memory back.
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

// callWindowsEnded is the Completer of the invalidations of an abandoned call.
type callWindowsEnded call

// Complete gives the memory of the call back after the last invalidation.
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

// letGo gives back the memory of an abandoned call, whose windows have ended.
func (k *call) letGo() {
	k.chain = k.chain.cleared()
	k.windows.releaseAll()
	if k.late {
		k.c.stats.lateReplies.Add(1)
	}
	k.unref()
}
