package stag

import (
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
	access    transport.Access
	abandoned bool // list is a private copy, or empty where nothing can be read
	base      uint64
	len       uint64
	list      []transport.Slice
}

// open begins a window in an unused entry.
func (e *entry) open(list []transport.Slice, access transport.Access, base uint64) transport.Region {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.key++
	e.tag = transport.STag(e.index<<keyBits | uint32(e.key))
	e.access = access
	e.base = base
	e.len = uint64(transport.TotalLen(list))
	e.list = append(e.list, list...)
	return transport.Region{STag: e.tag, Base: e.base, Len: e.len}
}

// shut ends the window, if there is one. e.mu is held.
func (e *entry) shut() {
	e.tag = 0
	e.abandoned = false
	e.drop()
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

// abandon replaces the memory by a copy of what can be read of it. e.mu is held.
func (e *entry) abandon() {
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
