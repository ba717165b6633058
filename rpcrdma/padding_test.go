package rpcrdma_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"unsafe"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/transporttest"
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
		h, _, got := p.nextMsg()
		// 56: the bytes that are not data, so no other opaque is as long
		want := be32(h.XID, 1, 64, 2, align, 56, 0, 0, 0)
		want = append(want, be32(h.XID, 0, 2, testProgram, 1, procEcho, 0, 0, 0, 0)...)
		want = append(want, be32(1, 0xfeedbeef, 100)...)
		want = append(want, make([]byte, 40)...) // 36+40+12 is 88
		want = append(append(want, data...), be32(9)...)
		if !bytes.Equal(got.b, want) {
			t.Errorf("call\n% x, want\n% x", got.b, want)
		}
		p.send(header(h.XID, rpcrdma.TypeMsg), replyHeader(h.XID), be32(0, 7))
		if err := wait(t, s.err); err != nil {
			t.Error(err)
		}
		if info.Padding != 40 || info.InlineSent != 40+12+100+4 {
			t.Errorf("%+v", info.CallInfo)
		}
	})
	t.Run("reply", func(t *testing.T) {
		p := newRig(t, cfg).raw(inline4k)
		p.send(header(5, rpcrdma.TypeMsg), callBytes(5, procSource, &source{2, 100}))
		want := be32(5, 1, 32, 2, align, 48, 0, 0, 0)
		want = append(want, be32(5, 1, 0, 0, 0, 0)...)
		want = append(want, be32(2, 0xfeedbeef, 100)...)
		want = append(want, make([]byte, 56)...) // 36+24+12 is 72
		want = append(append(want, data...), be32(0xfeedbeef, 100)...)
		want = append(want, make([]byte, 20)...) // 128+100+8 is 236
		want = append(append(want, pattern(1, 100)...), be32(7)...)
		if got := wait(t, p.msgs).b; !bytes.Equal(got, want) {
			t.Errorf("reply\n% x, want\n% x", got, want)
		}
	})
}

// padded lays out an RDMA_MSGP, written independently of package xdr: data of least bytes or more
// is moved, with fill in front of it.
func padded(h *rpcrdma.Header, m *xdr.Message, least int, fill byte) []byte {
	b := h.Append(nil)
	inline, pos := m.Inline, 0
	for _, it := range m.Bulk {
		b = append(b, inline[:it.Position-pos]...)
		inline = inline[it.Position-pos:]
		pos = it.Position + (it.Len+3)/4*4
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

// TestPaddedCalls sends padded calls, good and bad ones (draft section 3.9).
func TestPaddedCalls(t *testing.T) {
	// What is padded is data of this length or more.
	const (
		asItSays     = 0  // at or above the threshold, or above it, as the server is configured
		otherReading = -1 // the other of the two
		nothing      = 1 << 30
	)
	var errChunk []byte // no reply
	success, garbageArgs := replyHeader(1), append(replyHeader(1)[:20:20], be32(4)...)
	for _, tt := range []struct {
		align, thresh uint32
		lengths       []int
		least         int
		cut           int    // bytes that are missing at the end
		want          []byte // the reply
	}{
		{8, 300, []int{300, 301, 299}, asItSays, 0, success},
		{1024, 300, []int{300, 300, 300}, asItSays, 0, success},
		{4096, 1 << 20, []int{300}, nothing, 0, success},
		{64, 1<<32 - 1, []int{300}, nothing, 0, success},

		{0, 300, []int{10}, nothing, 0, errChunk}, // alignments that make no sense
		{12, 300, []int{10}, nothing, 0, errChunk},
		{8192, 300, []int{10}, nothing, 0, errChunk},
		{1<<32 - 1, 300, []int{10}, nothing, 0, errChunk},

		{128, 300, []int{301}, nothing, 0, garbageArgs},
		{128, 300, []int{300}, otherReading, 0, garbageArgs},
		{128, 300, []int{301}, asItSays, 100, garbageArgs},          // in the data
		{128, 300, []int{301}, asItSays, 304 + 4 + 10, garbageArgs}, // in the padding
		{128, 300, []int{301}, asItSays, 304 + 4, garbageArgs},      // behind the padding
		{128, 300, []int{301}, asItSays, -4, garbageArgs},           // bytes left over
	} {
		for _, cfg := range []rpcrdma.Config{
			{}, {PadAbove: true}, {Align: 64}, {Align: 64, PadAbove: true},
		} {
			name := fmt.Sprintf("%d/%d/%v/%d/receives %d, above %v", tt.align, tt.thresh, tt.lengths, tt.cut,
				cfg.Align, cfg.PadAbove)
			t.Run(name, func(t *testing.T) {
				cfg.Dialect = rpcrdma.Draft
				r := newRig(t, cfg)
				p := r.raw(inline4k)
				want := &items{tail: 5}
				for i, n := range tt.lengths {
					want.data = append(want.data, pattern(uint64(i), n))
				}
				least := tt.least
				if cfg.PadAbove == (least == asItSays) && least <= 0 {
					least = int(tt.thresh) + 1
				} else if least <= 0 {
					least = int(tt.thresh)
				}
				m := callMessage(1, procSink, want)
				h := header(1, rpcrdma.TypeMsgP)
				h.Align, h.Threshold = tt.align, tt.thresh
				b := append(padded(h, &m, least, 0xee), make([]byte, max(0, -tt.cut))...)
				p.sendBytes(b[:len(b)-max(tt.cut, 0)])
				got, body := p.next()
				if tt.want == nil {
					if got.Type != rpcrdma.TypeError || got.Err != rpcrdma.ErrChunk {
						t.Errorf("answer %v %v, want ERR_CHUNK", got.Type, got.Err)
					}
				} else if got.Type != rpcrdma.TypeMsg || !bytes.Equal(body, tt.want) {
					t.Fatalf("answer %v % x, want % x", got.Type, body, tt.want)
				}
				if bytes.Equal(tt.want, success) {
					a := wait(t, r.program.calls)
					if a.tail != want.tail || !slices.EqualFunc(a.data, want.data, bytes.Equal) {
						t.Error("arguments differ")
					}
				}
				p.alive()
			})
		}
	}
}

// TestTwoBuffers: wherever the boundary of two buffers lies, even in the header, both ends decode.
func TestTwoBuffers(t *testing.T) {
	for _, peerAlign := range []int{0, 16, 64, 512} {
		for _, align := range []int{64, 256} {
			t.Run(fmt.Sprintf("padded to %d, receives to %d", peerAlign, align), func(t *testing.T) {
				cfg := rpcrdma.Config{Dialect: rpcrdma.Draft, Align: align, PeerAlign: peerAlign, MinChunk: 64}
				c := newRig(t, cfg).dial(cfg)
				for n := range align + 10 {
					for _, land := range []bool{false, true} {
						args := &items{data: [][]byte{pattern(1, n), pattern(2, 5), pattern(3, 300)}, tail: 3}
						if err := echo(c, args, land); err != nil {
							t.Fatalf("first item of %d bytes, land %v: %v", n, land, err)
						}
					}
				}
			})
		}
	}
	t.Run("the header across both", func(t *testing.T) {
		r := newRig(t, rpcrdma.Config{Dialect: rpcrdma.Draft, Align: 64})
		p := r.raw(inline4k)
		for n := range uint32(12) {
			h := header(n, rpcrdma.TypeMsgP)
			h.Align, h.Threshold = 32, 40
			for range n {
				h.AddWrite([]chunks.Segment{{Handle: 1}})
			}
			want := &items{data: [][]byte{pattern(1, 50), pattern(2, 39)}, tail: 4}
			m := callMessage(n, procSink, want)
			p.sendBytes(padded(h, &m, 40, 0xee))
			if got, body := p.next(); got.Type != rpcrdma.TypeMsg || !bytes.Equal(body, replyHeader(n)) {
				t.Fatalf("%d write chunks: answer %v % x", n, got.Type, body)
			}
			got := wait(t, r.program.calls)
			if !slices.EqualFunc(got.data, want.data, bytes.Equal) || got.tail != 4 {
				t.Errorf("%d write chunks: arguments differ", n)
			}
		}
	})
}

// crooked is a Domain whose memory begins at odd multiples of 8 bytes: aligned only on purpose.
type crooked struct {
	mu  sync.Mutex
	all [][]byte
}

func (d *crooked) Alloc(n int, _ transport.Access) (transport.Slice, error) {
	b := make([]byte, 16+n)
	off := 8 ^ int(uintptr(unsafe.Pointer(unsafe.SliceData(b)))&8)
	b = b[off : off+n : off+n]
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all = append(d.all, b)
	return transport.Slice{Bytes: b}, nil
}

func (*crooked) Free(transport.Slice) {}

// has reports whether p lies in memory of the domain.
func (d *crooked) has(p *byte) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.ContainsFunc(d.all, func(b []byte) bool {
		off := uintptr(unsafe.Pointer(p)) - uintptr(unsafe.Pointer(unsafe.SliceData(b)))
		return off < uintptr(len(b)) // otherwise it is negative, or more
	})
}

// check checks where items have landed: those that are padded at multiples of align.
func (d *crooked) check(t *testing.T, what string, at []*byte, lengths []int, align int) {
	t.Helper()
	for i, n := range lengths {
		off := uintptr(unsafe.Pointer(at[i])) % uintptr(align)
		if !d.has(at[i]) || n >= 1024 && off != 0 {
			t.Errorf("%s %v: item %d was copied, or lies %d bytes behind a multiple of %d", what,
				lengths, i, off, align)
		}
	}
}

// placed is items that stay where the message has them.
type placed struct {
	items
	at []*byte
}

func (p *placed) UnmarshalXDR(d *xdr.Decoder) {
	for range d.Count(64, 8) {
		d.Uint32()
		b, err := d.Bulk(1 << 20).Bytes(context.Background())
		if err != nil {
			d.Fail(err)
		}
		p.at, p.data = append(p.at, unsafe.SliceData(b)), append(p.data, bytes.Clone(b))
	}
	p.tail = d.Uint32()
}

// TestPaddedLandsAligned: padded data is used where it has landed, at a multiple of the alignment
// (draft section 3.9), also when the two ends have agreed on longer receives.
func TestPaddedLandsAligned(t *testing.T) {
	const first, later = 8192, 40_000
	for _, network := range []struct {
		name   string
		limits transporttest.Limits
		make   provider
	}{
		{"loopback", transporttest.Limits{}, providers["loopback"]},
		{"loopback, posted", transporttest.Limits{NoHold: true}, providers["loopback"]},
		{"iwarp with CRC", transporttest.Limits{}, onIWARP(iwarp.Config{CRC: iwarp.CRCOn})},
		{"iwarp in many segments", transporttest.Limits{},
			onIWARP(iwarp.Config{CRC: iwarp.CRCOff, MaxSegment: 700})},
		{"iwarp with markers", transporttest.Limits{}, onIWARP(iwarp.Config{Markers: mpa.MarkersOn})},
	} {
		for _, align := range []int{128, 256, 4096} { // all larger than what precedes the data
			t.Run(fmt.Sprintf("%s/%d", network.name, align), func(t *testing.T) {
				cfg := rpcrdma.Config{Dialect: rpcrdma.Draft, InlineSend: first,
					InlineRecv: first, Align: align, PeerAlign: align, NoReplyChunks: true}
				var here, there crooked
				wrap := func(d *crooked) endpointWrapper {
					return func(ep transport.Endpoint) transport.Endpoint {
						return transporttest.Limit(ownDomain{ep.(transporttest.FullEndpoint), d}, network.limits)
					}
				}
				l, d := network.make(t)
				r := serveRig(t, cfg, l, d, wrap(&there))
				at := make(chan []*byte, 1)
				r.server.Handle(oncrpc.Program{Number: testProgram, Version: 2, Procedures: []oncrpc.Procedure{
					1: {NonBlocking: true, Handler: func(_ context.Context, c *oncrpc.Call) error {
						var args placed
						args.UnmarshalXDR(c.Args)
						args.MarshalXDR(c.Results)
						at <- args.at
						return c.Args.Finish()
					}},
				}})
				conn := r.dialOn(cfg, wrap(&here))
				if err := client(conn).Call(t.Context(), procNull, nil, nil); err != nil {
					t.Fatal(err)
				}
				ends := []*rpcrdma.Conn{conn, wait(t, r.program.conns)}
				cl := oncrpc.NewClient(conn, testProgram, 2, oncrpc.AuthNone())
				calls := uint64(0)
				echo := func(lengths ...int) {
					t.Helper()
					args, reply := &items{}, &placed{}
					for _, n := range lengths {
						args.data = append(args.data, pattern(uint64(n), n))
					}
					req := &oncrpc.Request{Procedure: 1, Args: args, Reply: reply}
					if err := cl.Do(t.Context(), req); err != nil {
						t.Fatalf("%v: %v", lengths, err)
					}
					calls++
					if !slices.EqualFunc(reply.data, args.data, bytes.Equal) {
						t.Errorf("%v: the data differs", lengths)
					}
					there.check(t, "call", wait(t, at), lengths, align)
					here.check(t, "reply", reply.at, lengths, align)
				}
				echo(1024)
				echo(10, 3000)
				if !network.limits.NoHold {
					for _, end := range ends {
						if got := end.EnlargeReceives(later); got != later {
							t.Fatalf("expects %d bytes, want %d", got, later)
						}
						end.UpdateSettings(func(s *rpcrdma.Settings) { s.MaxSend, s.MaxReplySend = later, later })
					}
					echo(1025, 2000)
					echo(9000, 9001, 5, 9002)
					echo(30_000)
				}
				for _, end := range ends {
					if got := end.Stats().Padded; got != calls {
						t.Errorf("%d RDMA_MSGPs have come, want %d", got, calls)
					}
				}
			})
		}
	}
}
