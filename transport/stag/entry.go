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
	detaching int            // calls of detach under way, whichever tag they are about
	returned  sync.Cond      // tells that one of them is over; made when first needed
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
		e.await(func() bool { return !e.ending })
		return
	}
	if e.pins > 0 {
		e.ending = true // so there are no new ones
		e.callDetach(detach)
		e.ending = false
	}
	e.tag = 0
	e.abandoned = false
	e.drop()
}

// close ends the window, and open for good. It waits for all calls of detach: what they refer
// to goes when the table has been closed. e.mu is held, but not meanwhile.
func (e *entry) close(detach func(transport.STag)) {
	e.shut(detach)
	e.closed = true
	e.await(func() bool { return e.detaching == 0 })
}

// callDetach calls detach for the window, without e.mu, which is held before and after.
func (e *entry) callDetach(detach func(transport.STag)) {
	tag := e.tag
	e.detaching++
	e.mu.Unlock()
	detach(tag)
	e.mu.Lock()
	e.detaching--
	if e.returned.L != nil {
		e.returned.Broadcast()
	}
}

// await waits until over holds, which calls of detach that return bring about. e.mu is held, but
// not meanwhile.
func (e *entry) await(over func() bool) {
	e.returned.L = &e.mu
	for !over() {
		e.returned.Wait()
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
		e.callDetach(detach)
		if e.tag != tag {
			return
		}
	}
	if e.ending {
		e.await(func() bool { return !e.ending })
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
