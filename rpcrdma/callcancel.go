package rpcrdma

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/go-rpcrdma/rpcrdma/internal/post"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// abandon cancels a call whose reply has not come. When it returns, the caller's memory is no
// longer touched: the peer may still write, but to a sink, and may still read, but from a copy. The
// call keeps its credit and its receive until its reply comes.
//
// If the provider cannot do that, the peer gets CancelGrace to reply. Then the connection is
// closed.
func (cl *caller) abandon(k *call) {
	l := cl.l
	atomic.AddUint64(&l.stats.Cancelled, 1)
	if !k.windows.abandon() {
		t := time.NewTimer(l.cfg.CancelGrace)
		defer t.Stop()
		select {
		case <-k.done:
		case <-t.C:
			l.fail(fmt.Errorf("call cancelled and not answered within %v", l.cfg.CancelGrace))
			<-k.done
		}
		k.windows.revoke()
		return
	}
	l.mu.Lock()
	waits := cl.pending.get(k.xid) == k
	if waits {
		k.abandoned = true
	}
	l.mu.Unlock()
	if !waits { // it ended meanwhile
		<-k.done
		k.windows.revoke()
	}
}

// endWindows invalidates the windows of an abandoned call, and then gives its memory back.
func (k *call) endWindows() {
	waits, err := k.l.invalidate(&k.chain, k.windows.regions, k.windows.ended, (*callWindowsEnded)(k))
	switch {
	case err != nil:
		k.l.fail(err)
		k.l.whenEnded(k.windows.regions, k.letGo)
	case !waits:
		k.letGo()
	}
}

// callWindowsEnded is the Completer of the invalidations of an abandoned call.
type callWindowsEnded call

// Complete gives the memory of the call back after the last invalidation.
func (e *callWindowsEnded) Complete(wr *transport.WorkRequest, err error) {
	k := (*call)(e)
	k.l.queue.Completed()
	switch {
	case !post.IsLast(wr):
	case err != nil:
		k.l.fail(err)
		k.l.whenEnded(k.windows.regions, k.letGo)
	default:
		k.letGo()
	}
}

// letGo gives back the memory of an abandoned call, whose windows have ended.
func (k *call) letGo() {
	k.chain = k.chain.Cleared()
	k.windows.releaseAll()
	if k.late {
		atomic.AddUint64(&k.l.stats.LateReplies, 1)
	}
	k.unref()
}
