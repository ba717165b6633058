package iwarp

import (
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/stag"
)

// The response to a peer's RDMA Read is sent straight from the window. The window is pinned while
// the LLP's batch refers to it. If the window ends all the same, the batch is detached from it.

// appendWindow calls the LLP's Append for a header and n bytes of a window. The window stays pinned
// while the batch refers to it.
func (s *segmenter) appendWindow(head []byte, n int) (room bool, err error) {
	o, table := &s.out, s.link.Table
	var pin stag.Pin
	s.list, pin, err = table.Pin(s.list[:0], o.source, o.offset, uint64(n))
	if err != nil {
		return false, err
	}
	o.payload = ddp.Payload{List: s.list}
	pin.Lock() // the LLP may read the payload now
	room = s.link.llp.Append(head, &o.payload, n, o.source)
	pin.Unlock()
	if !room {
		table.Unpin(pin)
		return false, nil
	}
	s.pins = append(s.pins, pin)
	return true, nil
}

// readFailed returns the violation to report if a peer's RDMA Read cannot be answered because of
// err.
func (s *segmenter) readFailed(err error) error {
	s.link.mu.Lock()
	defer s.link.mu.Unlock()
	request := s.link.queues.responses.At(0).segment(s.link.version)
	return newViolation(protectionCode(err), request)
}

// unpin unpins the windows that the LLP's batch referred to. s.mu is held.
func (s *segmenter) unpin() {
	for _, p := range s.pins {
		s.link.Table.Unpin(p)
	}
	s.pins = s.pins[:0]
}

// detach copies what the batch refers to in a window.
func (s *segmenter) detach(tag transport.STag) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.detachHeld(tag)
}

// detachHeld is detach for a caller that holds s.mu.
func (s *segmenter) detachHeld(tag transport.STag) {
	s.link.llp.Detach(tag)
	kept := s.pins[:0]
	for _, p := range s.pins {
		if p.Tag() == tag {
			s.link.Table.Unpin(p)
		} else {
			kept = append(kept, p)
		}
	}
	s.pins = kept
}

// endWindow ends a window, in place of sending a message. s.mu is held.
func (s *segmenter) endWindow() {
	s.ends = false
	s.link.Table.EndDetached(s.ended, s.detachHeld)
	s.complete = s.taken
}
