package rpcrdma_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// TestPaddedGolden checks the bytes of a padded call and of a padded reply, laid out by hand from
// draft sections 3.9 and 4.3.
func TestPaddedGolden(t *testing.T) {
	data := pattern(0, 100)
	const align = 64
	cfg := rpcrdma.Config{Dialect: rpcrdma.Draft, PeerAlign: align, MinChunk: 8}
	t.Run("call", func(t *testing.T) {
		info, cfg := &lastInfo{}, cfg
		cfg.Observer = info
		c, p := rawServer(t, cfg, inline4k)
		s := start(t.Context(), c, &items{data: [][]byte{data}, tail: 9}, nil)
		got := wait(t, p.msgs).b
		xid := uint32(got[0])<<24 | uint32(got[1])<<16 | uint32(got[2])<<8 | uint32(got[3])
		want := be32(xid, 1, 64, 2, align, 56, 0, 0,
			0) // 56: the bytes that are not data, so no other opaque is as long
		want = append(want, be32(xid, 0, 2, testProgram, 1, procEcho, 0, 0, 0, 0)...)
		want = append(want, be32(1, 0xfeedbeef, 100)...)
		want = append(want, make([]byte, 40)...) // 36+40+12 is 88
		want = append(append(want, data...), be32(9)...)
		if !bytes.Equal(got, want) {
			t.Errorf("call\n% x, want\n% x", got, want)
		}
		p.send(header(xid, rpcrdma.TypeMsg), replyHeader(xid), be32(0, 7))
		if err := wait(t, s.err); err != nil {
			t.Error(err)
		}
		if info.Padding != 40 || info.InlineSent != 40+12+100+4 {
			t.Errorf("%+v", info.CallInfo)
		}
	})
	t.Run("reply", func(t *testing.T) {
		r := newRig(t, cfg)
		p := r.raw(inline4k)
		p.send(header(5, rpcrdma.TypeMsg), callBytes(5, procSource, &source{2, 100}))
		got := wait(t, p.msgs).b
		want := be32(5, 1, 32, 2, align, 48, 0, 0, 0)
		want = append(want, be32(5, 1, 0, 0, 0, 0)...)
		want = append(want, be32(2, 0xfeedbeef, 100)...)
		want = append(want, make([]byte, 56)...) // 36+24+12 is 72
		want = append(append(want, data...), be32(0xfeedbeef, 100)...)
		want = append(want, make([]byte, 20)...) // 128+100+8 is 236
		want = append(append(want, pattern(1, 100)...), be32(7)...)
		if !bytes.Equal(got, want) {
			t.Errorf("reply\n% x, want\n% x", got, want)
		}
	})
}

// padded lays out an RDMA_MSGP, written independently of package xdr: data of least bytes or more
// is moved, with fill in front of it.
func padded(h *rpcrdma.Header, m *xdr.Message, without []bool, least int, fill byte) []byte {
	b := h.Append(nil)
	inline, pos := m.Inline, 0
	for i, it := range m.Bulk {
		b = append(b, inline[:it.Position-pos]...)
		inline = inline[it.Position-pos:]
		pos = it.Position + (it.Len+3)/4*4
		if i < len(without) && without[i] {
			continue
		}
		if it.Len >= least {
			for h.Align > 0 && len(b)%int(h.Align) != 0 {
				b = append(b, fill)
			}
		}
		for _, p := range it.Data {
			b = append(b, p...)
		}
		b = append(b, make([]byte, (4-it.Len%4)%4)...)
	}
	return append(b, inline...)
}

// TestPaddedCalls sends calls padded in every way that section 3.9 allows, and some that it does
// not.
func TestPaddedCalls(t *testing.T) {
	const size = 300
	for _, receives := range []int{0, 64} {
		for _, above := range []bool{false, true} {
			r := newRig(t, rpcrdma.Config{Dialect: rpcrdma.Draft, Align: receives, PadAbove: above})
			p := r.raw(inline4k)
			xid := uint32(0)
			// send sends a call. Data of at least least bytes is padded to align. The header has
			// the threshold thresh.
			send := func(align, thresh uint32, least int, cut int, lengths ...int) (*rpcrdma.Header, []byte, *items) {
				xid++
				want := &items{tail: xid}
				for i, n := range lengths {
					want.data = append(want.data, pattern(uint64(i), n))
				}
				m := callMessage(xid, procSink, want)
				h := header(xid, rpcrdma.TypeMsgP)
				h.Align, h.Threshold = align, thresh
				b := padded(h, &m, nil, least, 0xee)
				if cut < 0 {
					b = append(b, make([]byte, -cut)...)
				}
				p.sendBytes(b[:len(b)-max(cut, 0)])
				got, body := p.next()
				return got, body, want
			}
			prefix := fmt.Sprintf("receives %d, above %v: ", receives, above)
			t.Run(prefix+"valid", func(t *testing.T) {
				p.t = t
				exactly := size
				if above { // data of exactly the threshold is not padded
					exactly++
				}
				for _, tt := range []struct {
					align, thresh uint32
					least         int
					lengths       []int
				}{
					{1, size, size, []int{size}}, {2, size, size, []int{size}}, {4, size, size, []int{size}}, {8, size, exactly, []int{size, size + 1, size - 1}},
					{64, 1, 2, []int{size, 2, size}}, {1024, size, exactly, []int{size, size, size}}, {4096, 1 << 20, 1 << 20, []int{size}},
					{64, 1<<32 - 1, 1 << 20, []int{size}}, {2048, 200, exactly, []int{size, 10}},
				} {
					if tt.thresh == 200 {
						tt.least = 250
					}
					got, body, want := send(tt.align, tt.thresh, tt.least, 0, tt.lengths...)
					if got.Type != rpcrdma.TypeMsg || !bytes.Equal(body, replyHeader(got.XID)) {
						t.Errorf("align %d, threshold %d: answer %v % x", tt.align, tt.thresh,
							got.Type, body)
						continue
					}
					if a := wait(t, r.program.calls); a.tail != want.tail || !slices.EqualFunc(a.data, want.data, bytes.Equal) {
						t.Errorf("align %d, threshold %d: arguments differ", tt.align, tt.thresh)
					}
				}
			})
			t.Run(prefix+"alignments that make no sense", func(t *testing.T) {
				p.t = t
				for _, align := range []uint32{0, 3, 5, 12, 4095, 8192, 1 << 31, 1<<32 - 1} {
					if got, _, _ := send(align, size, 1<<20, 0, 10); got.Type != rpcrdma.TypeError || got.Err != rpcrdma.ErrChunk {
						t.Errorf("align %d: answer %v %v, want ERR_CHUNK", align, got.Type, got.Err)
					}
				}
				p.alive()
			})
			t.Run(prefix+"padding that is not as it should be", func(t *testing.T) {
				p.t = t
				least := size
				if above {
					least++
				}
				for _, tt := range []struct {
					name       string
					least, cut int
				}{
					{"none", 1 << 20, 0}, {"the other reading", 2*size + 1 - least, 0}, {"cut in the data", least, 100}, {"cut in the padding", least, size + 4 + 10},
					{"nothing but padding to come", least, size + 4}, {"bytes left over", least, -4},
				} {
					lengths := size
					if tt.name != "the other reading" && above {
						lengths++
					}
					got, body, _ := send(128, size, tt.least, tt.cut, lengths)
					// GARBAGE_ARGS
					if got.Type != rpcrdma.TypeMsg || !bytes.Equal(body, append(replyHeader(got.XID)[:20], be32(4)...)) {
						t.Errorf("%s: answer %v % x, want GARBAGE_ARGS", tt.name, got.Type, body)
					}
				}
				p.alive()
			})
		}
	}
}

// TestPaddedInRFC8166 checks that an RDMA_MSGP is answered with ERR_CHUNK in RFC 8166 (section
// 4.4).
func TestPaddedInRFC8166(t *testing.T) {
	r := newRig(t, rpcrdma.Config{})
	p := r.raw(inline4k)
	p.alive()
	conn := wait(t, r.program.conns)
	h := header(8, rpcrdma.TypeMsgP)
	h.Align, h.Threshold = 64, 100
	p.send(h, callBytes(8, procNull, nil))
	if got, _ := p.next(); got.Type != rpcrdma.TypeError || got.Err != rpcrdma.ErrChunk || got.XID != 8 {
		t.Errorf("answer %+v, want ERR_CHUNK", got)
	}
	p.alive()
	if got := conn.Stats(); got.Padded != 0 || got.Malformed != 1 {
		t.Errorf("counters %+v", got)
	}
	c, peer := rawServer(t, rpcrdma.Config{PeerAlign: 64, MinChunk: 8}, inline4k)
	s := start(t.Context(), c, &items{data: [][]byte{make([]byte, 500)}}, nil)
	if got, _ := peer.next(); got.Type != rpcrdma.TypeMsg {
		t.Errorf("call sent as %v", got.Type)
	} else {
		peer.send(header(got.XID, rpcrdma.TypeMsg), replyHeader(got.XID), be32(0, 7))
	}
	if err := wait(t, s.err); err != nil {
		t.Error(err)
	}
}

// TestPaddedBesideChunks sends padded data together with write chunks and a reply chunk, in calls
// and replies.
func TestPaddedBesideChunks(t *testing.T) {
	cfg := rpcrdma.Config{Dialect: rpcrdma.Draft, PeerAlign: 256}
	t.Run("call", func(t *testing.T) {
		c, p := rawServer(t, cfg, inline4k)
		data := pattern(1, 2000)
		req := oncrpc.Request{Procedure: procSink, Args: &items{data: [][]byte{data}},
			Results: [][]byte{make([]byte, 9000)}, MaxReply: 9000}
		done := make(chan error, 1)
		go func() { done <- client(c).Do(t.Context(), &req) }()
		m := wait(t, p.msgs)
		var h rpcrdma.Header
		n, err := h.Parse(m.b)
		if err != nil || h.Type != rpcrdma.TypeMsgP || len(h.Writes) != 1 || h.Reply.Len() == 0 || len(h.Reads) != 0 {
			t.Fatalf("call %+v, error %v", h, err)
		}
		at := (n + 52 + 255) / 256 * 256
		if !bytes.Equal(m.b[at:at+len(data)], data) {
			t.Errorf("the data is not at %d", at)
		}
		p.send(header(h.XID, rpcrdma.TypeMsg), replyHeader(h.XID))
		if err := wait(t, done); err != nil {
			t.Error(err)
		}
	})
	t.Run("reply", func(t *testing.T) {
		r := newRig(t, cfg)
		p := r.raw(inline4k)
		h := header(6, rpcrdma.TypeMsg)
		mem := make([]byte, 2000)
		h.AddWrite([]chunks.Segment{p.expose(mem, transport.RemoteWrite)})
		p.send(h, callBytes(6, procSource, &source{2, 1500}))
		m := wait(t, p.msgs)
		var got rpcrdma.Header
		n, err := got.Parse(m.b)
		if err != nil || got.Type != rpcrdma.TypeMsgP || len(got.Writes) != 1 || got.Writes[0].Len() != 1500 {
			t.Fatalf("reply %+v, error %v", got, err)
		}
		at := (n + 24 + 4 + 8 + 8 + 255) / 256 * 256
		if !bytes.Equal(m.b[at:at+1500], pattern(1, 1500)) || !bytes.Equal(mem[:1500], pattern(0, 1500)) {
			t.Errorf("the data is not at %d, or not in the write chunk", at)
		}
	})
	t.Run("what does not fit with its padding", func(t *testing.T) {
		c, p := rawServer(t, rpcrdma.Config{Dialect: rpcrdma.Draft, PeerAlign: 2048}, inline4k)
		const most = 4096 - 2048 // behind the padding
		for _, size := range []int{most - 4, most - 3} {
			s := start(t.Context(), c, &items{data: [][]byte{make([]byte, size)}}, nil)
			h, body := p.next()
			if want := map[bool]rpcrdma.Type{true: rpcrdma.TypeMsgP, false: rpcrdma.TypeMsg}[size == most-4]; h.Type != want || len(h.Reads) > 0 || h.Len()+len(body) > 4096 {
				t.Errorf("%d bytes of data: %v with %d read segments, %d bytes, want %v", size,
					h.Type, len(h.Reads), h.Len()+len(body), want)
			}
			p.send(header(h.XID, rpcrdma.TypeMsg), replyHeader(h.XID), be32(0, 7))
			if err := wait(t, s.err); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestPaddedReplies sends a client padded replies, good and bad ones.
func TestPaddedReplies(t *testing.T) {
	data := pattern(1, 700)
	for _, tt := range []struct {
		name          string
		align, thresh uint32
		least         int
		ok            bool
	}{
		{"padded", 512, 600, 600, true},
		{"below the threshold", 512, 800, 800, true},
		{"at it", 512, 700, 700, true},
		{"not padded, and it should be", 512, 600, 800, false},
		{"no power of two", 48, 600, 800, false},
		{"above the receive", 8192, 600, 800, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, p := rawServer(t, rpcrdma.Config{Dialect: rpcrdma.Draft}, inline4k)
			s := start(t.Context(), c, &items{data: [][]byte{{1}}}, nil)
			req, _ := p.next()
			h := header(req.XID, rpcrdma.TypeMsgP)
			h.Align, h.Threshold = tt.align, tt.thresh
			m := callMessage(0, procEcho, &items{data: [][]byte{data}, tail: 7})
			m.Inline = append(replyHeader(req.XID), m.Inline[40:]...)
			m.Bulk[0].Position -= 16
			p.sendBytes(padded(h, &m, nil, tt.least, 0x11))
			err := wait(t, s.err)
			if (err == nil) != tt.ok || tt.ok && !bytes.Equal(s.reply.data[0], data) {
				t.Errorf("error %v, or the result differs", err)
			}
			clientWorks(t, c, p)
		})
	}
}

// TestPaddedBothEnds echoes messages between ends that pad for each other.
func TestPaddedBothEnds(t *testing.T) {
	cfg := rpcrdma.Config{Dialect: rpcrdma.Draft, InlineSend: 20480, InlineRecv: 20480,
		Align: 4096, PeerAlign: 4096}
	r := newRig(t, cfg)
	c := r.dial(cfg)
	for _, size := range []int{0, 1, 500, 1023, 1024, 1025, 2000, 4096, 5001, 8192, 16384, 16385, 100_003} {
		for _, count := range []int{1, 2, 3} {
			args := &items{tail: 3}
			for i := range count {
				args.data = append(args.data, pattern(uint64(i), size))
			}
			for _, land := range []bool{false, true} {
				if err := echo(c, args, land); err != nil {
					t.Errorf("%d items of %d bytes: %v", count, size, err)
				}
			}
		}
	}
	if err := client(c).Call(t.Context(), procNull, nil, nil); err != nil {
		t.Fatal(err)
	}
	if here, there := c.Stats().Padded, wait(t, r.program.conns).Stats().Padded; here == 0 || there == 0 {
		t.Errorf("%d padded replies and %d padded calls", here, there)
	}
}

// FuzzPadded sends padded messages, and others that only the Draft has, to a server whose receives
// have two buffers. It neither panics nor stops serving.
func FuzzPadded(f *testing.F) {
	for _, align := range []uint32{0, 1, 64, 4096} {
		h := header(1, rpcrdma.TypeMsgP)
		h.Align, h.Threshold = align, 100
		m := callMessage(1, procEcho, &items{data: [][]byte{pattern(1, 200), pattern(2, 99)}})
		f.Add(padded(h, &m, nil, 100, 0), true)
	}
	h := header(2, rpcrdma.TypeMsgP)
	h.Align, h.Threshold = 64, 10
	h.Reads = []chunks.ReadSegment{{Position: 52, Segment: chunks.Segment{Handle: 1, Length: 5000}}}
	f.Add(append(h.Append(nil), callBytes(2, procSource, &source{1, 9000})...), false)
	f.Add(append(header(3, rpcrdma.TypeMsg).Append(nil), callBytes(3, procSource, &source{1, 9000})...), false)
	f.Add(header(3, rpcrdma.TypeDone).Append(nil), false)
	rigs := map[bool]*rig{}
	for _, above := range []bool{false, true} {
		rigs[above] = newRig(f, rpcrdma.Config{Dialect: rpcrdma.Draft, Align: 64, PadAbove: above, PeerAlign: 128, MinChunk: 50})
	}
	f.Fuzz(func(t *testing.T, msg []byte, above bool) {
		if len(msg) > 4096 {
			return
		}
		r := rigs[above]
		r.t = t
		p := r.raw(inline4k)
		if !p.post(msg) {
			return
		}
		const xid = 0x12345678
		if p.post(append(header(xid, rpcrdma.TypeMsg).Append(nil), callBytes(xid, procNull, nil)...)) {
			for answered := false; !answered; {
				select {
				case m := <-p.msgs:
					var h rpcrdma.Header
					if _, err := h.Parse(m.b); err != nil || h.Version != 1 {
						t.Fatalf("sent %x: %+v %v", m.b, h, err)
					}
					answered = h.XID == xid
				case <-p.ep.Done():
					answered = true
				}
			}
		}
		p.ep.Close()
		witness := r.raw(inline4k)
		witness.alive()
		witness.ep.Close()
	})
}

// post sends a message, and reports whether the connection was there.
func (p *rawPeer) post(b []byte) bool {
	p.t.Helper()
	wr := transport.WorkRequest{Op: transport.OpSend, Flags: transport.Signaled,
		Done: make(completer, 1), Local: []transport.Slice{{Bytes: b}}}
	if p.ep.Post(&wr) != nil {
		return false
	}
	wait(p.t, wr.Done.(completer))
	return true
}
