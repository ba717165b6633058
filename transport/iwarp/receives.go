package iwarp

import (
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
	"github.com/rpcrdma/go-rpcrdma/transport/ring"
)

// receives is the memory for the peer's Sends: posted receives, and promised ones, for which the
// source gives memory when a message comes. The upper layer adds to them, and the goroutine that
// receives takes them.
type receives struct {
	*link
	source transport.RecvSource // memory for promised receives, if not nil; set before Start

	// The link's mu guards these.
	promised int // receives without memory yet
	posted   ring.Ring[*transport.RecvRequest]
}

// post queues receives.
func (q *receives) post(rs []*transport.RecvRequest) error {
	if err := q.info.CheckPostRecv(rs); err != nil {
		return q.opError("post", err)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.room(len(rs)); err != nil {
		return err
	}
	for _, r := range rs {
		q.posted.Push(r)
	}
	return nil
}

// share sets the source of memory for promises, before Start.
func (q *receives) share(source transport.RecvSource) { q.source = source }

// promise promises n receives.
func (q *receives) promise(n int) error {
	q.mu.Lock()
	err := q.room(n)
	if err == nil {
		q.promised += n
	}
	q.mu.Unlock()
	return err
}

// room returns an error if n more cannot be queued; q.mu is held.
func (q *receives) room(n int) error {
	switch {
	case q.err != nil:
		return q.opError("post", transport.ClosedError(q.err))
	case !q.posted.Room(n + q.promised):
		return q.full
	}
	return nil
}

// take returns the memory for a message that has begun to arrive. It returns ddp.ErrHold if the
// source has no memory yet.
func (q *receives) take() (*transport.RecvRequest, error) {
	q.mu.Lock()
	r, ok := q.posted.Pop()
	promised := !ok && q.promised > 0
	if promised {
		q.promised--
	}
	q.mu.Unlock()
	switch {
	case ok:
		return r, nil
	case !promised:
		return nil, errCode(rdmap.UntaggedNoBuffer)
	}
	if r = q.source.Receive(); r == nil {
		q.takeBack()
		return nil, ddp.ErrHold
	}
	return r, nil
}

// takeBack restores a promise for which the source had no memory.
func (q *receives) takeBack() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err == nil {
		q.promised++
	}
}

// ready reports whether there is memory for any message that comes.
func (q *receives) ready() bool { return q.source == nil || q.source.Ready() }

// drop forgets all receives, after the end.
func (q *receives) drop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.posted, q.promised = ring.New[*transport.RecvRequest](0), 0
}
