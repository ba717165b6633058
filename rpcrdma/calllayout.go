package rpcrdma

import (
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// window is memory exposed to the peer for one call.
type window struct {
	first   int // of its slices in call.slices
	n       int
	region  int // the first of its regions in call.regions
	regions int
	access  transport.Access
	owned   transport.Slice // memory of the pool; otherwise the slices are the user's, imported
	result  []byte          // where owned is copied to when the reply is here
}

// noWindow is the index of a window that is not there.
const noWindow = -1

func (k *call) window(i int) *window {
	if i == noWindow {
		return nil
	}
	return &k.windows[i]
}

// layPlan plans the call for the settings in force.
func (k *call) layPlan(s *Settings) (err error) {
	x, most := k.x, k.c.cfg.MaxMessage
	k.settings, k.planned = s, x.Call.Len()
	if k.planned > most {
		return &oncrpc.CallTooLongError{Len: k.planned, Max: most}
	}
	if x.MaxReply > most {
		return &oncrpc.ReplyTooLongError{Len: x.MaxReply, Max: most, NotSent: true}
	}
	k.plan, err = chunks.PlanCall(&k.x.Call, k.x.Results, k.x.MaxReply, k.c.limits(s, s.MaxSend))
	return err
}

// layout exposes the memory of the call and writes its header, and the message behind it
// unless that is long, into buf.
func (k *call) layout() (err error) {
	c, x, h := k.c, k.x, &k.header
	h.XID, h.Version, h.Credits, h.Type = k.xid, ProtocolVersion, uint32(c.cfg.Credits), TypeMsg
	h.Lists.Reset()
	k.without = k.without[:0]
	for i := range x.Call.Bulk {
		k.without = append(k.without, x.Call.Bulk[i].Len >= k.plan.ReadChunkFrom)
	}
	k.pieces = x.Call.AppendPieces(k.pieces[:0], k.without)
	rest := 0
	for _, p := range k.pieces {
		rest += len(p)
	}
	if k.plan.Long { // the first entry, at position zero (draft section 5.1)
		h.Type = TypeNoMsg
		if err := k.addRead(0, k.pieces, rest); err != nil {
			return err
		}
	}
	for i, moved := range k.without {
		if it := &x.Call.Bulk[i]; moved {
			if err := k.addRead(it.Position, it.Data, it.Len); err != nil {
				return err
			}
		}
	}
	if k.plan.WriteResults {
		// Empty buffers at the end need no chunk: svcrdma refuses one without segments.
		n := len(x.Results)
		for len(x.Results[n-1]) == 0 {
			n--
		}
		for i := range n {
			if err := k.addWrite(x.Results[i : i+1]); err != nil {
				return err
			}
		}
	}
	if k.plan.ReplyChunk {
		w, err := k.exposeOwn(x.MaxReply, transport.RemoteWrite)
		if err != nil {
			return err
		}
		k.reply = len(k.windows) - 1
		h.SetReply(k.split(w))
	}

	n, thresh := 0, 0
	if !k.plan.Long {
		n, k.info.InlineSent = rest, rest
		if k.plan.ReadChunkFrom == chunks.NoReadChunks {
			thresh, k.info.Padding, _ = padHeader(h, &x.Call, nil, k.settings.PeerAlign, k.settings.MaxSend, c.cfg.MinChunk)
		}
	}
	n += h.Len() + k.info.Padding
	if k.buf, err = c.pool.get(n, 0); err != nil {
		return err
	}
	b := h.Append(k.buf.Bytes[:0])
	switch {
	case h.Type == TypeMsgP:
		b = x.Call.AppendPadded(b, nil, int(h.Align), thresh)
	case !k.plan.Long:
		for _, p := range k.pieces {
			b = append(b, p...)
		}
	}
	// The plan takes it that memory is not scattered, or can be exposed as if it were not.
	if len(b) > k.settings.MaxSend || h.Segments() > chunks.MaxSegments {
		return fmt.Errorf("%w: %d bytes", chunks.ErrHeader, len(b))
	}
	k.sendList[0] = k.buf.Sub(0, len(b))
	return nil
}

func (k *call) addRead(position int, data [][]byte, n int) error {
	w, err := k.expose(data, n, transport.RemoteRead)
	if err != nil {
		return err
	}
	for _, s := range k.split(w) {
		k.header.Reads = append(k.header.Reads, chunks.ReadSegment{Position: uint32(position), Segment: s})
	}
	k.info.ReadChunk += n
	return nil
}

// addWrite offers a write chunk for one result. An empty one keeps the place of its result.
func (k *call) addWrite(result [][]byte) error {
	n := len(result[0])
	if n == 0 {
		k.results = append(k.results, noWindow)
		k.header.AddWrite(nil)
		return nil
	}
	w, err := k.expose(result, n, transport.RemoteWrite)
	if err != nil {
		return err
	}
	k.results = append(k.results, len(k.windows)-1)
	k.header.AddWrite(k.split(w))
	return nil
}

// expose opens a window over n bytes in data. Memory that cannot be imported is copied
// through the pool, and so is scattered memory that would take too many Regions.
func (k *call) expose(data [][]byte, n int, access transport.Access) (*window, error) {
	c := k.c
	w := window{first: len(k.slices), access: access}
	if c.importer != nil && (!k.copies || len(data) == 1) {
		for _, p := range data {
			if len(p) == 0 {
				continue
			}
			s, err := c.importer.Import(p, access)
			if err != nil {
				k.release(&w)
				return nil, err
			}
			k.slices = append(k.slices, s)
			w.n++
		}
	} else {
		s, err := c.pool.get(n, access)
		if err != nil {
			return nil, err
		}
		w.owned = s
		if access&transport.RemoteRead != 0 {
			b := s.Bytes
			for _, p := range data {
				b = b[copy(b, p):]
			}
		} else {
			w.result = data[0]
		}
		k.slices = append(k.slices, s)
		w.n = 1
	}
	return k.open(w)
}

// exposeOwn opens a window over n bytes of the pool's.
func (k *call) exposeOwn(n int, access transport.Access) (*window, error) {
	s, err := k.c.pool.get(n, access)
	if err != nil {
		return nil, err
	}
	w := window{first: len(k.slices), n: 1, access: access, owned: s}
	k.slices = append(k.slices, s)
	return k.open(w)
}

func (k *call) open(w window) (*window, error) {
	var err error
	w.region = len(k.regions)
	k.regions, err = k.c.ep.Expose(k.regions, k.slices[w.first:w.first+w.n], w.access|k.c.invalid)
	if err != nil {
		k.release(&w)
		k.c.pool.put(w.owned, w.access)
		return nil, err
	}
	w.regions = len(k.regions) - w.region
	k.windows = append(k.windows, w)
	return &k.windows[len(k.windows)-1], nil
}

// split returns the segments of a window.
func (k *call) split(w *window) []chunks.Segment {
	k.segs = k.c.split(k.segs[:0], k.regions[w.region:][:w.regions])
	return k.segs
}

// split appends the segments of regions to dst.
func (c *Conn) split(dst []chunks.Segment, regions []transport.Region) []chunks.Segment {
	for _, r := range regions {
		dst = chunks.AppendSegments(dst, uint32(r.STag), r.Base, int(r.Len), c.cfg.SegmentSize)
	}
	return dst
}

// release ends the import of a window's memory.
func (k *call) release(w *window) {
	if w.owned.Bytes == nil {
		for _, s := range k.slices[w.first : w.first+w.n] {
			k.c.importer.Release(s)
		}
	}
	w.n = 0
}

// revokeWindows ends the windows of a call.
func (k *call) revokeWindows() error {
	if len(k.regions) == 0 {
		return nil
	}
	return k.c.ep.Revoke(k.regions...)
}

// releaseWindows ends the imports of their memory.
func (k *call) releaseWindows() {
	for i := range k.windows {
		k.release(&k.windows[i])
	}
}

// revokeWindowsOf ends the windows of a call: afterwards the peer cannot reach its memory. It is
// called in RoundTrip alone, as it may block.
func (cl *caller) revokeWindowsOf(k *call) {
	c := cl.conn
	if err := k.revokeWindows(); err != nil {
		c.fail(err)
		<-c.ep.Done()
	}
	k.releaseWindows()
}
