package iwarp

import (
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// completer delivers completions in the order in which the requests were posted. One goroutine at a
// time does so, the one that has set completing: the one that receives, one that polls, or the
// flusher; at the end, the one that takes the endpoint apart. The link's mu guards everything, but
// is not held while a Completer runs.
type completer struct {
	*link
	flusher    *flusher
	completing bool
}

// completeRound is how many completions are delivered before other work gets its turn. A Completer
// that posts again could otherwise go on for ever.
const completeRound = 64

// complete delivers completions, unless another goroutine is doing so. It leaves the rest of very
// many to the flusher.
func (c *completer) complete() {
	c.mu.Lock()
	if c.completing || c.err != nil {
		c.mu.Unlock()
		return
	}
	c.completing = true
	returned := false
	defer func() {
		c.completing = false
		c.ceased()
		c.mu.Unlock()
		if !returned {
			c.deserted()
		}
	}()
	for n := 0; c.err == nil && c.due(); n++ {
		if n == completeRound {
			c.flusher.wake()
			break
		}
		wr, _ := c.queues.requests.pop()
		c.call(wr, nil)
	}
	returned = true
}

// call calls a Completer, without c.mu, which is held.
func (c *completer) call(wr *transport.WorkRequest, err error) {
	c.mu.Unlock()
	defer c.mu.Lock() // even if the Completer does not return
	wr.Done.Complete(wr, err)
}

// due reports whether there is a completion to deliver. It removes requests that have succeeded and
// are not signaled. c.mu is held.
func (c *completer) due() bool {
	requests := &c.queues.requests
	for requests.done() {
		if requests.signaled() {
			return true
		}
		requests.pop()
	}
	return false
}

// unattended reports whether there is a completion that nobody is delivering; c.mu is held.
func (c *completer) unattended() bool { return c.due() && !c.completing }

// catchUp makes the goroutine that receives wait while another one delivers completions and has
// fallen behind. What is received leads to more requests, and the queue would fill up with
// completed ones.
func (c *completer) catchUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.completing && c.err == nil && c.queues.requests.ring.Len() > c.info.SendDepth/2 {
		c.awaitIdle()
	}
}

// flush delivers all completions after the end. Requests that were done succeed, the one that the
// peer blamed fails, and the rest is flushed. Nobody else delivers any more.
func (c *completer) flush(cause error) {
	flushed := c.opError("post", fmt.Errorf("%w: %w", transport.ErrFlushed, cause))
	c.mu.Lock()
	defer c.mu.Unlock()
	requests, blamed := &c.queues.requests, &c.queues.blamed
	for requests.ring.Len() > 0 {
		ok, signaled, number := requests.done(), requests.signaled(), requests.first
		wr, _ := requests.pop()
		if ok && !signaled {
			continue
		}
		var err error
		switch {
		case ok:
		case blamed.fault != nil && number == blamed.number:
			err = c.opError(wr.Op.String(), blamed.fault)
		default:
			err = flushed
		}
		c.call(wr, err)
	}
}
