package iwarp

import (
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// completable reports whether there is a completion to deliver. Requests that succeed and are not signaled are none: they
// leave the queue here. e.mu is held.
func (e *endpoint) completable() bool {
	for e.sends.done() {
		if e.sends.ring.At(0).wr.Flags&transport.Signaled != 0 {
			return true
		}
		e.sends.pop()
	}
	return false
}

// completeRound is how many completions are delivered before other work has its turn: who posts again in a Completer may go on for ever.
const completeRound = 64

// complete delivers completions, unless another goroutine does so. If there are very many it leaves the rest to the flusher.
func (e *endpoint) complete() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.completing || e.err != nil {
		return
	}
	e.completing = true
	for n := 0; e.err == nil && e.completable(); n++ {
		if n == completeRound {
			e.wakeFlusher()
			break
		}
		wr, _ := e.sends.pop()
		e.mu.Unlock()
		wr.Done.Complete(wr, nil)
		e.mu.Lock()
	}
	e.completing = false
	e.idle.Broadcast()
}

// awaitCompletions holds up the goroutine that receives while another delivers completions and has fallen behind: what comes in leads to
// more requests, and the queue would be full of those that are done.
func (e *endpoint) awaitCompletions() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for e.completing && e.err == nil && e.sends.ring.Len() > e.info.SendDepth/2 {
		e.idle.Wait()
	}
}

// completeAll delivers all completions after the end: what has been done succeeds, what the peer found fault with fails, the rest is
// flushed. Nobody else delivers any more.
func (e *endpoint) completeAll(cause error) {
	flushed := e.opError("post", fmt.Errorf("%w: %w", transport.ErrFlushed, cause))
	e.mu.Lock()
	defer e.mu.Unlock()
	for e.sends.ring.Len() > 0 {
		ok, number := e.sends.done(), e.sends.first
		wr, _ := e.sends.pop()
		if ok && wr.Flags&transport.Signaled == 0 {
			continue
		}
		var err error
		switch {
		case ok:
		case e.fault != nil && number == e.blamed:
			err = e.opError(wr.Op.String(), e.fault)
		default:
			err = flushed
		}
		e.mu.Unlock()
		wr.Done.Complete(wr, err)
		e.mu.Lock()
	}
}
