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

// A steering tag is an index of 24 bits above a key of 8 bits. The index is drawn
// at random and names an entry of the table for good; the key changes at every use of
// the entry, so that a tag outlives its window by no access at all. It counts up, rather
// than be drawn, too: a tag of a window long gone that a slow peer names shall not soon be
// that of another, and who guesses the next one harms the windows of his own connection
// only.
const (
	keyBits   = 8
	indexBits = 24

	// MaxTags is the largest limit of a table. It leaves the index space sparse, so
	// that drawing an unused index takes few attempts.
	MaxTags = 1 << (indexBits - 2)

	// pageSize aligns tagged offsets. Linux peers hand out page offsets; aligned
	// bases keep what they see familiar.
	pageSize = 4096
)

// Table holds the steering tags of one endpoint. Its methods may be called
// concurrently.
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

// New returns an empty table in which at most limit tags, no more than MaxTags, can be
// alive at a time.
//
// When a window that has pins ends or is abandoned the table calls detach, which must see
// to it that the memory is referred to no longer, and call Unpin for each pin before it
// returns. A provider that does not use Pin passes nil.
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

// Expose opens a window over the memory in list. The list is copied, the memory is
// not. It fails with ErrNoMemory at the limit of the table and with net.ErrClosed
// after Close.
func (t *Table) Expose(list []transport.Slice, access transport.Access) (transport.Region, error) {
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
	// Below 2^63, as is the length of any Go memory: their sum cannot overflow.
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
		// Without index 0 no tag is ever 0.
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

// Revoke ends windows. When it returns their tags are dead and no copy touches
// their memory any more. Windows that have ended before are passed over.
func (t *Table) Revoke(regions ...transport.Region) {
	for _, r := range regions {
		e := t.find(r.STag)
		if e == nil {
			continue
		}
		// The keys of an entry recur; the base tells a window from one long gone.
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

// Invalidate ends the window of tag on behalf of the peer, which needs
// RemoteInvalidate for it: ErrSTag, ErrAccess.
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

// End ends the window of tag on behalf of its owner, who need not know more of it than
// the tag. It returns as Revoke does. A tag that has ended is passed over.
func (t *Table) End(tag transport.STag) { t.EndDetached(tag, t.detach) }

// EndDetached is End with detach in place of the function that the table was made
// with: for a caller who holds the lock that the latter takes.
func (t *Table) EndDetached(tag transport.STag, detach func(transport.STag)) {
	e := t.find(tag)
	switch {
	case e == nil:
	case e.ending:
		// Somebody else is at it, who may wait for that lock: there are no new pins, so
		// the memory is free when those that there were are gone.
		e.callDetach(detach)
		e.mu.Unlock()
	default:
		e.shut(detach)
		e.mu.Unlock()
		t.put(e)
	}
}

// Abandon cuts the window r loose from its memory, which no copy touches any more
// when it returns. The tag lives on: what is placed is discarded, what is read comes
// from a copy of the memory as it was. A window that has ended is passed over.
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

// Live reports the number of tags alive.
func (t *Table) Live() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.live
}

// Close ends all windows, and Expose for good. It waits for copies under way: when it
// returns, no memory of a window is touched any more. It waits for calls of detach, too,
// whoever made the table call it, and there are none from then on.
func (t *Table) Close() {
	t.mu.Lock()
	t.closed = true
	entries := slices.Collect(maps.Values(t.entries))
	t.mu.Unlock()
	// They stay in the table until they are shut: a Revoke beside this waits for the copy
	// under way, too.
	for _, e := range entries {
		e.mu.Lock()
		e.close(t.detach)
		e.mu.Unlock()
	}
	t.mu.Lock()
	t.entries, t.free, t.live = nil, nil, 0
	t.mu.Unlock()
}
