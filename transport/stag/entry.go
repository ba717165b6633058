package stag

import (
	"net"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// maxKept is the longest scatter list whose storage an unused entry keeps: 1 MiB in pages.
const maxKept = 256

// entry holds one window after another.
type entry struct {
	index uint32

	// mu guards the fields below. Copies to or from the memory of the window hold it, which is what
	// Revoke and Abandon wait for.
	mu        sync.Mutex
	key       uint8          // of the latest tag
	tag       transport.STag // 0: there is no window
	closed    bool           // the table has been closed
	ending    bool           // the tag is dead, but the provider may still refer to the memory
	detaching int            // calls of detach under way, for any tag of this entry
	returned  sync.Cond      // a call of detach has returned; set up by await
	access    transport.Access
	pins      int  // pins that refer to the memory, see Pin
	abandoned bool // list is a private copy, or empty if the peer cannot read
	base      uint64
	len       uint64
	list      []transport.Slice
}

// open begins a window in an unused entry. It fails with net.ErrClosed if the table has been closed
// meanwhile.
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

// shut ends the window, if there is one. e.mu is held, but not while detach runs, which removes the
// pins.
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

// close ends the window, and makes open fail from now on. It waits for all calls of detach, which
// refer to things that go away after the table is closed. e.mu is held, but not while it waits.
func (e *entry) close(detach func(transport.STag)) {
	e.shut(detach)
	e.closed = true
	e.await(func() bool { return e.detaching == 0 })
}

// callDetach calls detach for the window. e.mu is held before and after, but not during the call.
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

// await waits until over returns true. It asks again whenever a call of detach has returned. e.mu
// is held, but not while it waits.
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

// abandon replaces the memory by a copy, or by nothing if the peer cannot read. e.mu is held, but
// not while detach runs. Afterwards there may be new pins, or the window may have ended.
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

// check checks whether the window permits access need to n bytes at off. e.mu is held.
func (e *entry) check(need transport.Access, off, n uint64) error {
	if e.access&need == 0 {
		return transport.ErrAccess
	}
	// Use only subtractions that cannot wrap: off+n could.
	if off < e.base || n > e.len || off-e.base > e.len-n {
		return transport.ErrBounds
	}
	return nil
}
