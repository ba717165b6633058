package iwarp

import (
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
	"github.com/rpcrdma/go-rpcrdma/transport/ring"
)

// receives is the memory that the peer's Sends may take: receives that have been posted, and
// promises of more, whose memory the source has when a message comes. The upper layer adds to them,
// the goroutine that receives takes them.
type receives struct {
	*link
	source transport.RecvSource // of promised receives, if not nil; set before Start

	// The link's mu guards these.
	promised int // receives without memory of their own
	posted   ring.Ring[*transport.RecvRequest]
}

// post queues receives.
func (q *receives) post(rs []*transport.RecvRequest) error {
	for _, r := range rs {
		if r == nil {
			return q.opError("post", transport.ErrWorkRequest)
		}
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

// share names where memory for promises comes from, before Start.
func (q *receives) share(source transport.RecvSource) { q.source = source }

// promise queues promises.
func (q *receives) promise(n int) error {
	q.mu.Lock()
	err := q.room(n)
	if err == nil {
		q.promised += n
	}
	q.mu.Unlock()
	return err
}

// room says why n more cannot be queued, if so; q.mu is held.
func (q *receives) room(n int) error {
	switch {
	case q.err != nil:
		return q.opError("post", q.closed)
	case !q.posted.Room(n + q.promised):
		return q.full
	}
	return nil
}

// take takes the memory for a message that has begun to come. It returns ddp.ErrHold where the
// source does not keep its promise yet.
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

// takeBack takes back a promise that the source did not keep.
func (q *receives) takeBack() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err == nil {
		q.promised++
	}
}

// ready reports whether there is memory for whatever message comes.
func (q *receives) ready() bool { return q.source == nil || q.source.Ready() }

// drop forgets all of them, after the end.
func (q *receives) drop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.posted, q.promised = ring.New[*transport.RecvRequest](0), 0
}
