package rdma

import (
	"sync"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

const (
	ringSends   = 256 // work requests for Sends
	signalEvery = 16  // every 16th is Signaled, and frees those before it
)

// sends posts Sends of the same bytes, with work requests of a ring.
type sends struct {
	ep     transport.Endpoint
	poller transport.Poller // nil if the provider needs no polling
	fail   func(error)

	mu   sync.Mutex // guards what follows
	ring []*transport.WorkRequest
	next int // in ring
	free int // of ring, from next on
	owed int // Sends to post when requests become free
}

func newSends(ep transport.Endpoint, message transport.Slice, fail func(error)) *sends {
	s := &sends{ep: ep, fail: fail, free: ringSends}
	for i := range ringSends {
		wr := &transport.WorkRequest{
			Op:    transport.OpSend,
			Local: []transport.Slice{message},
			Done:  s,
		}
		if i%signalEvery == signalEvery-1 {
			wr.Flags = transport.Signaled
		}
		s.ring = append(s.ring, wr)
	}
	return s
}

// post sends n messages.
func (s *sends) post(n int) {
	s.mu.Lock()
	s.owed += n
	s.postOwed()
	s.mu.Unlock()
}

// Complete frees the requests up to wr.
func (s *sends) Complete(_ *transport.WorkRequest, err error) {
	if err != nil {
		s.fail(err)
		return
	}
	s.mu.Lock()
	s.free += signalEvery
	s.postOwed()
	s.mu.Unlock()
}

// postOwed posts as many owed Sends as there are free requests. s.mu is held.
func (s *sends) postOwed() {
	for s.owed > 0 && s.free > 0 {
		n := min(s.owed, s.free, len(s.ring)-s.next)
		wrs := s.ring[s.next : s.next+n]
		var err error
		if s.poller != nil {
			err = s.poller.PostPolled(wrs...)
		} else {
			err = s.ep.Post(wrs...)
		}
		if err != nil {
			s.fail(err)
			return
		}
		s.next = (s.next + n) % len(s.ring)
		s.free -= n
		s.owed -= n
	}
}
