package matrix

import (
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/transporttest"
)

// rawEnd is one end of a connection, played by the test.
type rawEnd struct {
	t  *testing.T
	ep transport.Endpoint
	in chan []byte
}

func newHand(t *testing.T, ep transport.Endpoint) *rawEnd {
	h := &rawEnd{t, ep, make(chan []byte, 16)}
	for range cap(h.in) {
		h.post()
	}
	ep.Start(h)
	t.Cleanup(func() {
		ep.Close()
		hang.Receive(t, "the end of the connection", ep.Done())
	})
	return h
}

func (h *rawEnd) post() {
	h.ep.PostRecv(&transport.RecvRequest{Local: []transport.Slice{h.memory(make([]byte, 8192))}})
}

// memory returns p as memory of the provider. A software provider takes it as it is.
func (h *rawEnd) memory(p []byte) transport.Slice { return transport.Slice{Bytes: p} }

// Received implements transport.MessageHandler.
func (h *rawEnd) Received(batch []transport.Message) {
	for _, m := range batch {
		h.in <- m.Receive.Local[0].Bytes[:m.Len]
		h.post()
	}
}

// next returns the next message.
func (h *rawEnd) next() []byte {
	h.t.Helper()
	select {
	case b := <-h.in:
		return b
	case <-time.After(patience):
		h.t.Fatal("no message")
		return nil
	}
}

type completed chan error

func (c completed) Complete(_ *transport.WorkRequest, err error) { c <- err }

// do posts a request and waits for its end.
func (h *rawEnd) do(op transport.Op, p []byte, s segment) {
	h.t.Helper()
	c := make(completed, 1)
	err := h.ep.Post(&transport.WorkRequest{Op: op, Flags: transport.Signaled, Local: []transport.Slice{h.memory(p)}, Done: c,
		Remote: transport.Remote{STag: transport.STag(s.handle), Offset: s.offset}})
	if err == nil {
		select {
		case err = <-c:
		case <-time.After(patience):
			h.t.Fatalf("%v is not over", op)
		}
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *rawEnd) send(b []byte) {
	h.t.Helper()
	h.do(transport.OpSend, b, segment{})
}

// expose exposes p and returns its segment.
func (h *rawEnd) expose(p []byte, access transport.Access) segment {
	h.t.Helper()
	r := transporttest.Expose(h.t, h.ep, []transport.Slice{h.memory(p)}, access)
	return segment{uint32(r.STag), uint32(len(p)), r.Base}
}

// source offers the bytes of p, cut into segments of these lengths, in separate buffers. Lengths
// beyond len(p) are round-up.
func (h *rawEnd) source(p []byte, lengths []int) (c chunk) {
	h.t.Helper()
	for i, n := range lengths {
		if n == rest {
			n = len(p)
		}
		memory := slices.Repeat([]byte{0xee}, n) // round-up may be anything
		p = p[copy(memory, p):]
		c = append(c, h.segment(i, memory, transport.RemoteRead))
	}
	if len(p) > 0 {
		h.t.Fatalf("%d bytes are in no segment", len(p))
	}
	return c
}

// target offers segments of these lengths for Writes.
func (h *rawEnd) target(lengths []int) (c chunk) {
	for i, n := range lengths {
		c = append(c, h.segment(i, make([]byte, n), transport.RemoteWrite))
	}
	return c
}

// segment exposes memory as the i-th segment of a chunk. An empty segment gets an arbitrary
// address, because nobody may look at it.
func (h *rawEnd) segment(i int, memory []byte, access transport.Access) segment {
	h.t.Helper()
	if len(memory) == 0 {
		return segment{handle: 0xdead0000 + uint32(i), offset: 1 << 50}
	}
	return h.expose(memory, access)
}

// rest stands for the length of everything that is left.
const rest = -1

// script describes a message to be built by hand.
type script struct {
	items []Item
	reads map[int][]int // by item: the segments of its read chunk
	apart bool          // the last segment of each has its own position, after the data
	long  []int         // the segments of the chunk at position zero
	order order

	align, thresh int  // of an RDMA_MSGP, if align is not 0
	above         bool // only data above the threshold is padded
}

// order is the order of a read list.
type order int

const (
	ascending   order = iota
	descending        // by position
	interleaved       // segments of all chunks in turn
)

// opaques returns the offsets and lengths of the opaque data in a call or reply. Data of items
// begins at index first.
func opaques(items []Item, call bool) (at, length []int, first int) {
	if call {
		at, length, first = []int{32, 40}, []int{0, 0}, 2
	} else {
		at, length, first = []int{20}, []int{0}, 1
	}
	p := at[first-1] + 4
	if !call {
		p += 4
	}
	for _, it := range items {
		at, length = append(at, p+8), append(length, it.Len)
		p += 8 + roundUp(it.Len)
	}
	return at, length, first
}

// build adds a read list to a header, and returns the whole message. It leaves out the items in
// away, which travel in other chunks.
func (s *script) build(h *rawEnd, hd header, whole []byte, away map[int]bool) []byte {
	h.t.Helper()
	call := binary.BigEndian.Uint32(whole[4:]) == 0
	at, length, first := opaques(s.items, call)
	var lists [][]readSegment
	gone := func(i int) bool { return i >= first && (s.reads[i-first] != nil || away[i-first]) }
	for i := range at {
		if i < first || s.reads[i-first] == nil {
			continue
		}
		list := at32(at[i], h.source(whole[at[i]:at[i]+length[i]], s.reads[i-first]))
		if s.apart {
			list[len(list)-1].position += uint32(length[i])
		}
		lists = append(lists, list)
	}
	if s.align > 0 {
		hd.proc, hd.align, hd.thresh = msgp, uint32(s.align), uint32(s.thresh)
	}
	if s.long != nil {
		var b []byte
		p := 0
		for i := range at {
			b = append(b, whole[p:at[i]]...)
			p = at[i]
			if gone(i) {
				p += roundUp(length[i])
			}
		}
		b = append(b, whole[p:]...)
		hd.proc = nomsg
		lists = append([][]readSegment{at32(0, h.source(b, s.long))}, lists...)
	}
	hd.reads = s.order.list(lists)
	out := hd.append(nil)
	if hd.proc == nomsg {
		return out
	}
	p := 0
	for i := range at {
		out = append(out, whole[p:at[i]]...)
		p = at[i]
		if gone(i) {
			p += roundUp(length[i])
			continue
		}
		padded := length[i] >= s.thresh && !s.above || length[i] > s.thresh
		for s.align > 0 && padded && len(out)%s.align != 0 {
			out = append(out, 0x99) // padding may be anything
		}
	}
	return append(out, whole[p:]...)
}

func at32(position int, c chunk) (list []readSegment) {
	for _, s := range c {
		list = append(list, readSegment{uint32(position), s})
	}
	return list
}

func (o order) list(chunks [][]readSegment) (list []readSegment) {
	if o == descending {
		slices.Reverse(chunks)
	}
	if o != interleaved {
		return slices.Concat(chunks...)
	}
	slices.Reverse(chunks)
	for more := true; more; {
		more = false
		for i, c := range chunks {
			if len(c) > 0 {
				list, chunks[i], more = append(list, c[0]), c[1:], true
			}
		}
	}
	return list
}
