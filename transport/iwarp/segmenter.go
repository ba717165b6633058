package iwarp

import (
	"sync"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/stag"
)

// segmenter cuts messages into segments, and fills the LLP's batch with them. It belongs to the
// goroutine that sends, and to who holds its mu, since a window may end meanwhile. That mu is taken
// before the link's.
type segmenter struct {
	link *link

	mu  sync.Mutex // guards what follows, and the LLP's batch
	out outgoing

	taken    uint64 // number of the work request behind the last that was begun
	complete uint64 // likewise, of those that are in the batch as a whole
	answered bool   // the last message was a response: it is the turn of our own requests

	ends  bool // it is no message: the window ended, of this end's, ends in its place
	ended transport.STag

	head []byte            // of the segment, in its wire form
	list []transport.Slice // of a segment of a response
	pins []stag.Pin        // windows that the LLP's batch refers to
}

// flush fills the batch and sends what the network takes without waiting. It reports whether the
// batch is empty now.
func (s *segmenter) flush() (empty bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fill(); err != nil {
		return false, err
	}
	return s.link.llp.Flush()
}

// fill puts segments in the batch until it is full or there are no more; s.mu is held.
func (s *segmenter) fill() error {
	for {
		if !s.out.active && !s.take() {
			return nil
		}
		if s.ends {
			s.endWindow()
			continue
		}
		room, err := s.segment()
		if err != nil {
			return s.readFailed(err)
		}
		if !room {
			return nil
		}
		if !s.out.active {
			s.concludeMessage()
		}
	}
}

// take begins the next message, if there is one. Our own and the responses take turns. s.mu is
// held.
func (s *segmenter) take() bool {
	l := s.link
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.sendable() {
		return false
	}
	q, o := &l.queues, &s.out
	if q.rtr != 0 {
		s.takeRTR()
		return true
	}
	wr, waiting := q.nextRequest()
	if q.responses.Len() > 0 && (!waiting || !s.answered) {
		s.answered = true
		o.beginResponse(q.responses.At(0))
		return true
	}
	s.answered = false
	number := q.requests.take()
	s.taken = number + 1
	switch n := uint64(transport.TotalLen(wr.Local)); wr.Op {
	case transport.OpInvalidate:
		s.ends, s.ended = true, wr.Invalidate
	case transport.OpWrite:
		o.beginWrite(wr.Remote, wr.Local, n)
	case transport.OpRead:
		q.reads.Push(o.beginRead(number, wr.Remote, wr.Local, n))
	default:
		o.beginSend(sendOpcode(wr), wr.Invalidate, wr.Local, n)
	}
	return true
}

// endWindow ends a window in place of a message: nothing of it is sent. s.mu is held.
func (s *segmenter) endWindow() {
	s.ends = false
	s.link.table.EndDetached(s.ended, s.detachHeld)
	s.complete = s.taken
}

// segment adds the next segment of the message to the batch. It reports false when the batch is
// full, and an error when the window that the peer reads has ended. s.mu is held.
func (s *segmenter) segment() (room bool, err error) {
	o := &s.out
	n := o.cut(s.link.llp.MaxSegment())
	s.head = o.header.Append(s.head[:0])
	if o.response && n > 0 {
		room, err = s.appendWindow(n)
	} else {
		room = s.link.llp.Append(s.head, &o.payload, n, 0)
	}
	if room {
		o.advance(n)
	}
	return room, err
}

// appendWindow is the LLP's Append for n bytes of a window, which stays pinned while the batch
// refers to it.
func (s *segmenter) appendWindow(n int) (room bool, err error) {
	o, table := &s.out, s.link.table
	var pin stag.Pin
	s.list, pin, err = table.Pin(s.list[:0], o.source, o.offset, uint64(n))
	if err != nil {
		return false, err
	}
	o.payload = ddp.Payload{List: s.list}
	pin.Lock() // the LLP may read the payload now
	room = s.link.llp.Append(s.head, &o.payload, n, o.source)
	pin.Unlock()
	if !room {
		table.Unpin(pin)
		return false, nil
	}
	s.pins = append(s.pins, pin)
	return true, nil
}

// concludeMessage notes that all of the message is in the batch. s.mu is held.
func (s *segmenter) concludeMessage() {
	s.complete = s.taken
	if s.out.response {
		s.link.mu.Lock()
		s.link.queues.responses.Pop()
		s.link.mu.Unlock()
	}
}

// readFailed is what the peer did wrong if its RDMA Read cannot be answered because of err.
func (s *segmenter) readFailed(err error) error {
	s.link.mu.Lock()
	defer s.link.mu.Unlock()
	request := s.link.queues.responses.At(0).segment(s.link.version)
	return newViolation(protectionCode(err), request)
}

// batchSent notes that all of the batch has left. It returns the number of the work request behind the
// last that has left with it, and whether a message is still being cut.
func (s *segmenter) batchSent() (complete uint64, cutting bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unpin()
	return s.complete, s.out.active
}

// unpin lets go of the windows that the LLP's batch referred to. s.mu is held.
func (s *segmenter) unpin() {
	for _, p := range s.pins {
		s.link.table.Unpin(p)
	}
	s.pins = s.pins[:0]
}

// detach has the batch refer to the memory of a window no longer.
func (s *segmenter) detach(tag transport.STag) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.detachHeld(tag)
}

// detachHeld is detach for who holds s.mu.
func (s *segmenter) detachHeld(tag transport.STag) {
	s.link.llp.Detach(tag)
	kept := s.pins[:0]
	for _, p := range s.pins {
		if p.Tag() == tag {
			s.link.table.Unpin(p)
		} else {
			kept = append(kept, p)
		}
	}
	s.pins = kept
}

// cut ends the batch, when nobody sends any more: what has begun to leave is followed by the last
// words, if there are any.
func (s *segmenter) cut(peerGone bool, words []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.link.llp.Cut(peerGone)
	s.unpin()
	if words != nil {
		s.link.counters.TerminatesSent.Add(1)
		appendTerminate(s.link.llp, s.link.version, words)
	}
}
