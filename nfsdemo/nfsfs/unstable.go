package nfsfs

import (
	"sync"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// unstable has the data of a file that is written but not committed. A server that restarts may
// lose it, and changes its write verifier. The data is then written again from memory (RFC 1813
// sections 3.3.7 and 3.3.21).
//
// The data is in spans, which do not overlap: new data replaces old. So they can be written again
// in any order. No other WRITE may be under way meanwhile, because it could arrive before the data
// that it should replace (see gate).
type unstable struct {
	f *File

	// gate is held shared by WRITE and SETATTR, from before the call is sent until spans reflect
	// it. It is held exclusively while lost data is written again.
	gate sync.RWMutex

	mu         sync.Mutex // guards what follows
	changed    sync.Cond  // signals changes of held, committing and err
	spans      []*span    // by offset
	spare      []*span
	fill       *buffer // WriteAt copies to it; may be nil
	filled     bool    // fill has been set before
	held       int     // bytes in buffers, and of WRITEs under way
	waiting    int     // callers that wait for held to decrease
	epoch      uint64  // COMMITs sent so far
	durable    uint64  // data written in earlier epochs is committed
	committing bool    // a COMMIT is under way, or lost data is being written again
	restarts   int     // consecutive COMMITs that found data lost
	err        error   // why data was lost; never reset
}

// span is a run of uncommitted bytes.
type span struct {
	off   int64
	b     *buffer // has the bytes,
	at, n int     // from at on
	verf  nfs3.Verifier
	epoch uint64 // unstable.epoch some time after the WRITE was answered
}

func (s *span) end() int64   { return s.off + int64(s.n) }
func (s *span) data() []byte { return s.b.mem[s.at : s.at+s.n] }

// maxSpans is the largest number of spans of a file, not counting those of WRITEs under way.
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

// full reports whether n more bytes would be too many. A single WRITE always has room.
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
	case b == u.fill: // it is empty
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
