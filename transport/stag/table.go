package stag

import (
	crand "crypto/rand"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// A steering tag is a 24-bit index followed by an 8-bit key. The index is random and names one
// entry of the table for good. The key counts up at every use of the entry, so a tag gives no
// access after its window has ended.
//
// The key is not random, so that a slow peer's tag of an old window does not soon name a new one. A
// peer that guesses the next key harms only windows of its own connection.
const (
	keyBits   = 8
	indexBits = 24

	// MaxTags is the largest number of tags in a table. It keeps the index space sparse, so that
	// finding an unused random index takes few attempts.
	MaxTags = 1 << (indexBits - 2)

	// pageSize is the alignment of tagged offsets. Linux peers use page-aligned offsets, too.
	pageSize = 4096
)

// Table holds the steering tags of one endpoint. Its methods may be called concurrently.
type Table struct {
	limit  int
	detach func(transport.STag)

	mu      sync.Mutex // guards the fields below, and is never held together with an entry's
	rng     *rand.ChaCha8
	entries map[uint32]*entry // by index
	free    []*entry
	live    int
	closed  bool
}

// New returns an empty table for at most limit live tags, or MaxTags if that is less.
//
// When a window with pins ends or is abandoned, the table calls detach. Before detach returns, the
// provider must stop referring to the memory and must call Unpin for each pin. A provider that does
// not use Pin passes nil.
func New(limit int, detach func(transport.STag)) *Table {
	var seed [32]byte
	crand.Read(seed[:]) // never fails
	return &Table{
		limit:   min(limit, MaxTags),
		detach:  detach,
		rng:     rand.NewChaCha8(seed),
		entries: make(map[uint32]*entry),
	}
}

// Expose opens a window over the memory in list. It copies the list, but not the memory. It fails
// with ErrWorkRequest if access permits neither Reads nor Writes, with ErrNoMemory if the table is
// full, and with net.ErrClosed after Close.
func (t *Table) Expose(list []transport.Slice, access transport.Access) (transport.Region, error) {
	if access&(transport.RemoteRead|transport.RemoteWrite) == 0 {
		return transport.Region{}, transport.ErrWorkRequest
	}
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return transport.Region{}, net.ErrClosed
	}
	if t.live >= t.limit {
		t.mu.Unlock()
		return transport.Region{}, transport.ErrNoMemory
	}
	t.live++
	e := t.take()
	// The base is below 2^63, as is the length of any Go memory, so their sum cannot overflow.
	base := t.rng.Uint64() >> 1 &^ (pageSize - 1)
	t.mu.Unlock()
	return e.open(list, access, base)
}

// take returns an unused entry. t.mu is held.
func (t *Table) take() *entry {
	if n := len(t.free); n > 0 {
		e := t.free[n-1]
		t.free = t.free[:n-1]
		return e
	}
	for {
		r := t.rng.Uint64()
		index := uint32(r) >> keyBits
		// Index 0 is not used, so that no tag is 0.
		if index == 0 || t.entries[index] != nil {
			continue
		}
		e := &entry{index: index, key: uint8(r)}
		t.entries[index] = e
		return e
	}
}

// put takes back an entry that has been shut.
func (t *Table) put(e *entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	t.free = append(t.free, e)
	t.live--
}

// acquire returns the entry of a live tag, locked, or ErrSTag.
func (t *Table) acquire(tag transport.STag) (*entry, error) {
	e := t.find(tag)
	if e == nil {
		return nil, transport.ErrSTag
	}
	if e.ending {
		e.mu.Unlock()
		return nil, transport.ErrSTag
	}
	return e, nil
}

// find returns the entry of a tag that has not ended, locked, or nil. It may be ending.
func (t *Table) find(tag transport.STag) *entry {
	t.mu.Lock()
	e := t.entries[uint32(tag)>>keyBits]
	t.mu.Unlock()
	if e == nil {
		return nil
	}
	e.mu.Lock()
	if e.tag != tag {
		e.mu.Unlock()
		return nil
	}
	return e
}

// Revoke ends windows. When it returns, their tags are dead and nothing touches their memory any
// more. It ignores windows that have ended already.
func (t *Table) Revoke(regions ...transport.Region) {
	for _, r := range regions {
		e := t.find(r.STag)
		if e == nil {
			continue
		}
		// Keys of an entry repeat; the base tells this window from an old one.
		ours, first := e.base == r.Base, !e.ending
		if ours {
			e.shut(t.detach)
		}
		e.mu.Unlock()
		if ours && first {
			t.put(e)
		}
	}
}

// Invalidate ends the window of tag for the peer, as a Send with Invalidate. The window must have
// RemoteInvalidate. Invalidate fails with ErrSTag or ErrAccess.
func (t *Table) Invalidate(tag transport.STag) error {
	e, err := t.acquire(tag)
	if err != nil {
		return err
	}
	if e.access&transport.RemoteInvalidate == 0 {
		e.mu.Unlock()
		return transport.ErrAccess
	}
	e.shut(t.detach)
	e.mu.Unlock()
	t.put(e)
	return nil
}

// End ends the window of tag for its owner, as OpInvalidate. When it returns, nothing touches the
// memory any more. It ignores a tag that has ended already.
func (t *Table) End(tag transport.STag) { t.EndDetached(tag, t.detach) }

// EndDetached is End, but calls detach instead of the function given to New. Use it while holding a
// lock that the latter takes.
func (t *Table) EndDetached(tag transport.STag, detach func(transport.STag)) {
	e := t.find(tag)
	switch {
	case e == nil:
	case e.ending:
		// Another goroutine is ending the window, and may wait for the caller's lock. There are no
		// new pins, so the memory is free once detach has removed the old ones.
		e.callDetach(detach)
		e.mu.Unlock()
	default:
		e.shut(detach)
		e.mu.Unlock()
		t.put(e)
	}
}

// Abandon detaches the window r from its memory. When it returns, nothing touches that memory any
// more. The tag stays alive: what the peer writes is discarded, and what it reads comes from a
// copy. Abandon ignores a window that has ended.
func (t *Table) Abandon(r transport.Region) {
	e := t.find(r.STag)
	if e == nil {
		return
	}
	if e.base == r.Base {
		e.abandon(t.detach)
	}
	e.mu.Unlock()
}

// Live returns the number of live tags.
func (t *Table) Live() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.live
}

// Close ends all windows, and makes Expose fail from now on. When it returns, nothing touches
// memory of a window any more, and no call of detach is under way or will follow.
func (t *Table) Close() {
	t.mu.Lock()
	t.closed = true
	entries := slices.Collect(maps.Values(t.entries))
	t.mu.Unlock()
	// The entries stay in the table until they are shut, so that a concurrent Revoke waits for
	// copies under way, too.
	for _, e := range entries {
		e.mu.Lock()
		e.close(t.detach)
		e.mu.Unlock()
	}
	t.mu.Lock()
	t.entries, t.free, t.live = nil, nil, 0
	t.mu.Unlock()
}
