package nfsfs

import (
	"sync"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// unstable is what was written to a file and not committed. A server that restarts may lose it, and
// says so by another write verifier; then it is written again from memory (RFC 1813 sections 3.3.7
// and 3.3.21).
//
// The data is in spans. They do not overlap, since what is written takes the place of what was
// there before: the order in which they are written again does not matter. Meanwhile no other WRITE
// is under way, which could arrive before what it shall replace (gate).
type unstable struct {
	f *File

	// gate is held shared by each WRITE, and SETATTR, from before it is sent until spans say what
	// it did, and exclusively while lost data is written again.
	gate sync.RWMutex

	mu         sync.Mutex // guards what follows
	changed    sync.Cond  // of held, committing and err
	spans      []*span    // by offset
	spare      []*span
	fill       *buffer // what WriteAt copies to, or nil
	filled     bool    // there was one before
	held       int     // bytes in buffers, and of WRITEs under way
	waiting    int     // how many wait for held to become less
	epoch      uint64  // how many COMMITs were sent
	durable    uint64  // what was written in epochs before this one is committed
	committing bool    // one is under way, or what it found lost is being written again
	restarts   int     // of the server, as the last COMMITs have found one after the other
	err        error   // why data was lost; it stays
}

// span is a run of bytes that are not committed.
type span struct {
	off   int64
	b     *buffer // where they are kept,
	at, n int     // from at on
	verf  nfs3.Verifier
	epoch uint64 // unstable.epoch at some time after the server had answered
}

func (s *span) end() int64   { return s.off + int64(s.n) }
func (s *span) data() []byte { return s.b.mem[s.at : s.at+s.n] }

// maxSpans is how many spans of a file there are at most, but for those of WRITEs that are under
// way.
const maxSpans = 4096

func (u *unstable) init(f *File) {
	u.f = f
	u.changed.L = &u.mu
}

// reserve waits until n more bytes may be held.
func (u *unstable) reserve(n int) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	for u.err == nil && u.full(n) {
		u.waiting++
		u.kick()
		u.changed.Wait()
		u.waiting--
	}
	if u.err != nil {
		return u.err
	}
	u.held += n
	return nil
}

// full reports whether n more bytes are too many. A WRITE alone never is.
func (u *unstable) full(n int) bool {
	return u.held > 0 && n > u.f.fs.cfg.MaxUncommitted-u.held || len(u.spans) >= maxSpans
}

// release undoes reserve.
func (u *unstable) release(n int) {
	u.mu.Lock()
	u.unhold(n)
	u.mu.Unlock()
}

func (u *unstable) unhold(n int) {
	u.held -= n
	if u.waiting > 0 {
		u.changed.Broadcast()
	}
}

// unref drops a reference to a buffer.
func (u *unstable) unref(b *buffer) {
	b.refs--
	switch {
	case b.refs > 1 || b.refs == 1 && b != u.fill:
	case b == u.fill: // nobody else has something in it
		u.unhold(b.used)
		b.used = 0
	default:
		u.unhold(b.used)
		u.f.fs.buffers.put(b)
	}
}

// drop forgets everything.
func (u *unstable) drop() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, s := range u.spans {
		u.unref(s.b)
	}
	u.spans, u.spare = nil, nil
	if b := u.fill; b != nil {
		u.fill = nil
		u.unref(b)
	}
}

// end returns where the last span ends.
func (u *unstable) end() int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.spans) == 0 {
		return 0
	}
	return u.spans[len(u.spans)-1].end()
}
