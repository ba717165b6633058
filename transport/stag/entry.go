package stag

import (
	"net"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// maxKept is the longest scatter list whose storage an unused entry keeps: 1 MiB in
// pages.
const maxKept = 256

// entry is a place for one window, used again and again.
type entry struct {
	index uint32

	// mu guards the fields below. Whoever copies to or from the memory of the
	// window holds it meanwhile: that is what Revoke and Abandon wait for.
	mu        sync.Mutex
	key       uint8          // of the latest tag
	tag       transport.STag // 0 while there is no window
	closed    bool           // together with the table
	ending    bool           // the tag is dead, but the memory may still be referred to
	ended     sync.Cond      // tells that this is over; made when first needed
	access    transport.Access
	pins      int  // segments that refer to the memory, see Pin
	abandoned bool // list is a private copy, or empty where nothing can be read
	base      uint64
	len       uint64
	list      []transport.Slice
}

// open begins a window in an unused entry, unless the table has been closed meanwhile.
func (e *entry) open(list []transport.Slice, access transport.Access,
	base uint64) (transport.Region, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return transport.Region{}, net.ErrClosed
	}
	e.key++
	e.tag = transport.STag(e.index<<keyBits | uint32(e.key))
	e.access = access
	e.base = base
	e.len = uint64(transport.TotalLen(list))
	e.list = append(e.list, list...)
	return transport.Region{STag: e.tag, Base: e.base, Len: e.len}, nil
}

// shut ends the window, if there is one. e.mu is held, but not while detach runs, which
// makes the pins go away.
func (e *entry) shut(detach func(transport.STag)) {
	if e.ending {
		e.awaitEnd()
		return
	}
	if e.pins > 0 {
		e.ending = true // so there are no new ones
		e.mu.Unlock()
		detach(e.tag)
		e.mu.Lock()
		e.ending = false
		if e.ended.L != nil {
			e.ended.Broadcast()
		}
	}
	e.tag = 0
	e.abandoned = false
	e.drop()
}

// awaitEnd waits until the window that somebody else is ending has ended. e.mu is held, but
// not meanwhile.
func (e *entry) awaitEnd() {
	e.ended.L = &e.mu
	for e.ending {
		e.ended.Wait()
	}
}

// drop lets go of the memory. e.mu is held.
func (e *entry) drop() {
	if cap(e.list) > maxKept {
		e.list = nil
		return
	}
	clear(e.list)
	e.list = e.list[:0]
}

// abandon replaces the memory by a copy of what can be read of it. e.mu is held, but not
// while detach runs: there may be new pins then, or the window may have ended.
func (e *entry) abandon(detach func(transport.STag)) {
	tag := e.tag
	for e.pins > 0 && !e.ending {
		e.mu.Unlock()
		detach(tag)
		e.mu.Lock()
		if e.tag != tag {
			return
		}
	}
	if e.ending {
		e.awaitEnd()
		return
	}
	if e.abandoned {
		return
	}
	e.abandoned = true
	if e.access&transport.RemoteRead == 0 {
		e.drop()
		return
	}
	private := []transport.Slice{{Bytes: make([]byte, e.len)}}
	Copy(private, e.list)
	e.drop()
	e.list = append(e.list, private...)
}

// check says whether the peer may do need to n bytes at off. e.mu is held.
func (e *entry) check(need transport.Access, off, n uint64) error {
	if e.access&need == 0 {
		return transport.ErrAccess
	}
	// Subtractions alone, each known not to wrap: off+n could.
	if off < e.base || n > e.len || off-e.base > e.len-n {
		return transport.ErrBounds
	}
	return nil
}
