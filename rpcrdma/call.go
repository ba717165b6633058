package rpcrdma

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/credits"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// call is one call of this side, from RoundTrip until the last of these has let go of it: the
// caller, the table of calls that await a reply, the Send.
type call struct {
	c    *Conn
	x    *oncrpc.Exchange
	xid  uint32
	refs atomic.Int32

	// The end of a call that is not abandoned. It may come before the caller begins to wait, on his own goroutine often; then he
	// finds it in result, and else in done, of capacity 1. Who comes second to turn knows.
	turn   atomic.Bool
	result error
	done   chan error

	// abandoned is set, under Conn.mu, by a caller who returns without a reply: the memory
	// is then given back by whoever takes the call off the table.
	abandoned bool
	late      bool             // the reply came to a call that had been abandoned
	ended     []transport.STag // windows that the peer has ended; guarded by Conn.mu while the call is in the table

	settings *Settings // at the time of the plan
	planned  int       // length of the message at that time
	plan     chunks.CallPlan
	header   Header
	windows  []window
	results  []int // by result: its window
	reply    int   // the reply chunk's window
	slices   []transport.Slice
	regions  []transport.Region // of the windows
	segs     []chunks.Segment
	pieces   [][]byte
	without  []bool
	copies   bool // scattered memory would take too many windows: what the peer reads is copied

	buf      transport.Slice // of the Send
	send     transport.WorkRequest
	sendList [1]transport.Slice
	sendArgs [1]*transport.WorkRequest

	recv    *receive // the reply
	message message  // its inline part, wherever that is
	written []xdr.Chunk
	info    CallInfo
	credit  credits.Credit

	// Of a reply with a read list.
	owes     bool // it is to be answered by an RDMA_DONE
	fetching bool // its chunks; guarded by Conn.mu
	reads    []chunks.ReadChunk
	long     bool // the first of reads is the message
	loads    []transport.Slice
	chain    chain
	readErr  error // the first of the Reads
	gated    bool  // these go through the gate
	doneBuf  transport.Slice
	ack      transport.WorkRequest
	doneList [1]transport.Slice
	doneArgs [1]*transport.WorkRequest
}

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

func newCall() *call {
	k := &call{done: make(chan error, 1)}
	k.send.Op = transport.OpSend
	k.send.Flags = transport.Signaled
	k.send.Done = (*callSent)(k)
	k.send.Local = k.sendList[:]
	k.sendArgs[0] = &k.send
	k.ack.Op = transport.OpSend
	k.ack.Flags = transport.Signaled
	k.ack.Done = (*callSent)(k)
	k.ack.Local = k.doneList[:]
	k.doneArgs[0] = &k.ack
	return k
}

// getCall returns a call that its caller holds.
func getCall(c *Conn, x *oncrpc.Exchange) *call {
	k, _ := c.pool.calls.Get().(*call)
	if k == nil {
		k = newCall()
	}
	k.c, k.x = c, x
	k.refs.Store(1)
	k.turn.Store(false)
	k.abandoned, k.late, k.owes, k.fetching, k.long = false, false, false, false, false
	k.copies = false
	k.reply = noWindow
	k.info = CallInfo{}
	k.describe()
	return k
}

// describe notes what is called, as far as the message is made.
func (k *call) describe() {
	if m := k.x.Call.Inline; len(m) >= 24 {
		k.info.Program = binary.BigEndian.Uint32(m[12:])
		k.info.Version = binary.BigEndian.Uint32(m[16:])
		k.info.Procedure = binary.BigEndian.Uint32(m[20:])
	}
}

// unref lets go of k.
func (k *call) unref() {
	if k.refs.Add(-1) > 0 {
		return
	}
	if k.recv != nil {
		k.c.supply.release(k.recv)
	}
	k.forgetLayout()
	if k.owes || len(k.loads) > 0 {
		k.forgetReads()
	}
	pool := k.c.pool
	k.c, k.x, k.recv, k.message, k.result = nil, nil, nil, message{}, nil
	pool.calls.Put(k)
}

// forgetLayout gives back the memory that the call was laid out in.
func (k *call) forgetLayout() {
	p := k.c.pool
	p.put(k.buf, 0)
	if len(k.windows)+len(k.slices)+len(k.results)+len(k.written) > 0 { // a call that is inline both ways has none
		for i := range k.windows {
			p.put(k.windows[i].owned, k.windows[i].access)
		}
		clear(k.windows)
		clear(k.slices)
		clear(k.written)
		k.windows, k.slices, k.written, k.results = k.windows[:0], k.slices[:0], k.written[:0], k.results[:0]
		k.regions, k.ended = k.regions[:0], k.ended[:0]
	}
	clear(k.pieces)
	k.pieces = k.pieces[:0]
	k.buf, k.sendList[0] = transport.Slice{}, transport.Slice{}
	k.reply = noWindow
	k.info.ReadChunk, k.info.Padding = 0, 0
}

// forgetReads gives back the memory of a reply that was read.
func (k *call) forgetReads() {
	k.c.pool.put(k.doneBuf, 0)
	for _, s := range k.loads {
		k.c.pool.put(s, transport.LocalWrite)
	}
	clear(k.loads)
	clear(k.reads)
	k.loads, k.reads, k.chain = k.loads[:0], k.reads[:0], k.chain.cleared()
	k.doneBuf, k.doneList[0] = transport.Slice{}, transport.Slice{}
}

// Release is called when the reply has been decoded.
func (k *call) Release() { k.unref() }

// callSent is told that the Send of a call has ended.
type callSent call

// Complete lets go of the Send. If it failed, so has the connection, and the call ends with that.
func (s *callSent) Complete(*transport.WorkRequest, error) {
	k := (*call)(s)
	k.c.queue.completed()
	k.unref()
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

// layout exposes the memory of the call and writes its header, and the message behind it
// unless that is long, into buf.
func (k *call) layout() (err error) {
	c, x, h := k.c, k.x, &k.header
	h.XID, h.Version, h.Credits, h.Type = k.xid, ProtocolVersion, uint32(c.cfg.Credits), TypeMsg
	h.Lists.Reset()
	k.without = k.without[:0]
	for i := range x.Call.Bulk {
		k.without = append(k.without, x.Call.Bulk[i].Len >= k.plan.ReadFrom)
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
		if k.plan.ReadFrom == chunks.NoReads {
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

// split returns the segments of a window.
func (k *call) split(w *window) []chunks.Segment {
	k.segs = k.c.split(k.segs[:0], k.regions[w.region:][:w.regions])
	return k.segs
}

// split appends the segments of regions to dst.
func (c *Conn) split(dst []chunks.Segment, regions []transport.Region) []chunks.Segment {
	for _, r := range regions {
		dst = chunks.Split(dst, uint32(r.STag), r.Base, int(r.Len), c.cfg.SegmentSize)
	}
	return dst
}
