package iwarp

import "github.com/rpcrdma/go-rpcrdma/transport"

// corkedRequests is how many requests may gather while the goroutine that receives is busy, before they are sent, for the
// reason that batchMessages has.
const corkedRequests = 16

// Post queues requests, and sends what the network takes.
func (e *endpoint) Post(wrs ...*transport.WorkRequest) error {
	if err := e.queue(wrs); err != nil {
		return err
	}
	e.send()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.completer.unattended() && !e.corked {
		e.flusher.wake()
	}
	return nil
}

// PostPolled queues requests for a caller who will Poll.
func (e *endpoint) PostPolled(wrs ...*transport.WorkRequest) error { return e.queue(wrs) }

// Poll sends what the network takes, and delivers completions.
func (e *endpoint) Poll() {
	e.send()
	e.completer.complete()
}

func (e *endpoint) queue(wrs []*transport.WorkRequest) error {
	for _, wr := range wrs {
		if err := e.valid(wr); err != nil {
			return e.opError("post", err)
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.closed != nil:
		return e.opError("post", e.closed)
	case !e.queues.requests.ring.Room(len(wrs)):
		return e.full
	}
	for _, wr := range wrs {
		e.queues.requests.push(wr)
	}
	return nil
}

// valid says whether wr makes sense on this connection.
func (e *endpoint) valid(wr *transport.WorkRequest) error {
	switch {
	case wr == nil || wr.Done == nil || wr.Op < transport.OpSend || wr.Op > transport.OpInvalidate:
		return transport.ErrWorkRequest
	case wr.Op == transport.OpInvalidate: // whatever its Local is
		return nil
	case wr.Op == transport.OpRead && e.info.ORD == 0:
		return transport.ErrNoReads
	case uint64(transport.TotalLen(wr.Local)) > maxMessage:
		return transport.ErrWorkRequest
	}
	return nil
}
