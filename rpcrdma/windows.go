package rpcrdma

import (
	"slices"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// windows are the memory that one call exposes to the peer.
type windows struct {
	l       *link
	list    []window
	regions []transport.Region // of all windows
	slices  []transport.Slice  // of all windows
	segs    []chunks.Segment
	// ended has the tags that the peer has ended. Conn.mu guards it while the call is in the table.
	ended []transport.STag
}

// window is memory exposed to the peer for one chunk.
type window struct {
	first   int // index of its first slice in windows.slices
	n       int // number of its slices
	region  int // index of its first region in windows.regions
	regions int // number of its regions
	access  transport.Access
	owned   transport.Slice // memory of the pool; if empty, the slices are imported
	result  []byte          // where to copy owned when the reply is here
}

// noWindow is the index of no window.
const noWindow = -1

func (ws *windows) at(i int) *window {
	if i == noWindow {
		return nil
	}
	return &ws.list[i]
}

// last returns the index of the window that was opened last.
func (ws *windows) last() int { return len(ws.list) - 1 }

// expose opens a window over n bytes in data, and returns its segments. If the provider cannot
// import memory, or if copies is set and the memory is scattered, the window is over memory of the
// pool.
func (ws *windows) expose(data [][]byte, n int, access transport.Access, copies bool) (
	[]chunks.Segment, error) {
	l := ws.l
	if l.importer == nil || copies && len(data) > 1 {
		s, err := l.shared.Get(n, access)
		if err != nil {
			return nil, err
		}
		w := window{access: access, owned: s}
		if access&transport.RemoteRead != 0 {
			gather(s.Bytes, data)
		} else {
			w.result = data[0]
		}
		return ws.open(w)
	}
	w := window{first: len(ws.slices), access: access}
	for _, p := range data {
		if len(p) == 0 {
			continue
		}
		s, err := l.importer.Import(p, access)
		if err != nil {
			ws.release(&w)
			return nil, err
		}
		ws.slices = append(ws.slices, s)
		w.n++
	}
	return ws.open(w)
}

// exposeOwn opens a window over n bytes of the pool, and returns its segments.
func (ws *windows) exposeOwn(n int, access transport.Access) ([]chunks.Segment, error) {
	s, err := ws.l.shared.Get(n, access)
	if err != nil {
		return nil, err
	}
	return ws.open(window{access: access, owned: s})
}

func (ws *windows) open(w window) ([]chunks.Segment, error) {
	if w.owned.Bytes != nil {
		w.first, w.n = len(ws.slices), 1
		ws.slices = append(ws.slices, w.owned)
	}
	var err error
	w.region = len(ws.regions)
	ws.regions, err = ws.l.ep.Expose(ws.regions, ws.slices[w.first:w.first+w.n], w.access|ws.l.invalid)
	if err != nil {
		ws.release(&w)
		ws.l.shared.Put(w.owned, w.access)
		return nil, err
	}
	w.regions = len(ws.regions) - w.region
	ws.list = append(ws.list, w)
	atomic.AddUint64(&ws.l.traffic.Exposed, 1)
	ws.segs = ws.l.split(ws.segs[:0], ws.regions[w.region:])
	return ws.segs, nil
}

// release ends the import of a window's memory.
func (ws *windows) release(w *window) {
	if w.owned.Bytes == nil {
		for _, s := range ws.slices[w.first : w.first+w.n] {
			ws.l.importer.Release(s)
		}
	}
	w.n = 0
}

// releaseAll ends all imports. The windows have ended.
func (ws *windows) releaseAll() {
	for i := range ws.list {
		ws.release(&ws.list[i])
	}
}

// revoke ends all windows. Afterwards the peer cannot reach the memory. It may block, so only
// RoundTrip calls it.
func (ws *windows) revoke() {
	if len(ws.regions) > 0 {
		if err := ws.l.ep.Revoke(ws.regions...); err != nil {
			ws.l.fail(err)
			<-ws.l.ep.Done()
		}
	}
	ws.releaseAll()
}

// abandon detaches all windows from the user's memory, and reports whether that was possible.
func (ws *windows) abandon() bool {
	for i := range ws.list {
		w := &ws.list[i]
		if w.owned.Bytes != nil {
			continue // memory of the pool, which stays until the reply comes
		}
		for _, r := range ws.regions[w.region:][:w.regions] {
			if a := ws.l.abandoner; a == nil || a.Abandon(r) != nil {
				return false
			}
		}
	}
	return true
}

// lost notes that the peer has ended the window of tag. It reports false if there is no such
// window, or if that was noted before. Conn.mu is held.
func (ws *windows) lost(tag transport.STag) bool {
	same := func(r transport.Region) bool { return r.STag == tag }
	if !slices.ContainsFunc(ws.regions, same) || slices.Contains(ws.ended, tag) {
		return false
	}
	ws.ended = append(ws.ended, tag)
	return true
}

// reset forgets the windows, which have ended, and gives back memory of the pool.
func (ws *windows) reset() {
	if len(ws.list)+len(ws.slices) == 0 { // such as for a call that is inline both ways
		return
	}
	for i := range ws.list {
		ws.l.shared.Put(ws.list[i].owned, ws.list[i].access)
	}
	clear(ws.list)
	clear(ws.slices)
	ws.list, ws.slices = ws.list[:0], ws.slices[:0]
	ws.regions, ws.ended = ws.regions[:0], ws.ended[:0]
}
