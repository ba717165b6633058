package matrix

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// handCall is a call made by hand, in a way that our client never makes it.
type handCall struct {
	name    string
	call    script
	writes  [][]int // segments of the offered write chunks
	reply   []int   // segments of the reply chunk
	results []Item
	server  rpcrdma.Config

	want       string // the reply, in the notation of Want
	draft      string // in the draft dialect, if it differs
	wantCall   string // the call as the decoder describes it; unchecked if empty
	notRFC8166 bool   // ERR_CHUNK there
}

const refused = "ERROR 20 ERR_CHUNK"

func handCalls() (all []*handCall) {
	add := func(c *handCall) { all = append(all, c) }
	three := []Item{bulk(33), text(5), bulk(70), bulk(6)}
	add(&handCall{name: "position zero beside data", call: script{items: three, long: []int{rest}, reads: map[int][]int{0: {33}, 2: {70}}}, want: "MSG 60",
		wantCall: "NOMSG 100 read 0:96 read 52:33 read 112:70"})
	add(&handCall{name: "position zero in segments", call: script{items: three, long: []int{1, 2, 0, 30, rest}}, want: "MSG 60"})
	add(&handCall{name: "position zero last in the list", call: script{items: three, long: []int{50, rest}, reads: map[int][]int{0: {33}, 2: {1, 69}}, order: descending},
		want: "MSG 60"})
	add(&handCall{name: "position zero between the others", call: script{items: three, long: []int{50, rest}, reads: map[int][]int{0: {10, 23}, 2: {1, 60, 9}}, order: interleaved},
		want: "MSG 60"})
	add(&handCall{name: "segments of one position apart", call: script{items: three, reads: map[int][]int{0: {1, 2, 30}, 2: {68, 1, 1}, 3: {3, 3}}, order: interleaved}, want: "MSG 60"})
	add(&handCall{name: "chunks from the last to the first", call: script{items: three, reads: map[int][]int{0: {33}, 2: {70}, 3: {6}}, order: descending}, want: "MSG 60"})
	add(&handCall{name: "segments of a byte", call: script{items: three, reads: map[int][]int{3: {1, 1, 1, 1, 1, 1}}}, want: "MSG 60"})
	add(&handCall{name: "segments of no bytes", call: script{items: three, reads: map[int][]int{0: {0, 33, 0}, 2: {70, 0}, 3: {0, 0, 6}}}, want: "MSG 60"})
	for n := range 10 {
		r := roundUp(n)
		items := []Item{bulk(50), bulk(n), bulk(51)}
		add(&handCall{name: fmt.Sprintf("round-up in a read chunk, %d", n), call: script{items: items, reads: map[int][]int{1: {r}, 2: {52}}}, want: "MSG 60"})
		add(&handCall{name: fmt.Sprintf("round-up in a segment of its own, %d", n), call: script{items: items, reads: map[int][]int{1: {n, r - n}, 2: {51, 1}}}, want: "MSG 60"})
		add(&handCall{name: fmt.Sprintf("round-up in the last of several segments, %d", n), call: script{items: items, reads: map[int][]int{1: {min(n, 1), r - min(n, 1)}}, long: []int{rest}},
			want: "MSG 60"})
		if n%4 > 0 {
			add(&handCall{name: fmt.Sprintf("round-up in a chunk of its own, %d", n), call: script{items: items, reads: map[int][]int{1: {n, r - n}, 2: {51, 1}}, apart: true},
				want: "MSG 60", wantCall: fmt.Sprintf("MSG %d read 112:%d read %d:%d read %d:51 read %d:1", 28+52+52+8+8+4+4*24, n, 112+n, r-n, 120+r, 171+r)})
			add(&handCall{name: fmt.Sprintf("round-up in a chunk of its own, first in the list, %d", n), want: "MSG 60",
				call: script{items: items, reads: map[int][]int{1: {1, n - 1, r - n}, 2: {50, 1, 1}}, apart: true, long: []int{rest}, order: interleaved}})
			add(&handCall{name: fmt.Sprintf("more than the round-up in a chunk of its own, %d", n), want: refused,
				call: script{items: items, reads: map[int][]int{1: {n, 4}}, apart: true}})
		}
		for thresh := range 3 {
			above := rpcrdma.Config{PadAbove: true}
			add(&handCall{name: fmt.Sprintf("padding of %d bytes and more, %d", thresh, n), call: script{items: []Item{bulk(n), text(n), bulk(9)}, align: 32, thresh: thresh},
				want: "MSG 60", notRFC8166: true})
			add(&handCall{name: fmt.Sprintf("padding above %d bytes, %d", thresh, n), server: above,
				call: script{items: []Item{bulk(n), text(n), bulk(9)}, align: 32, thresh: thresh, above: true}, want: "MSG 60", notRFC8166: true})
			add(&handCall{name: fmt.Sprintf("padding of %d bytes around the threshold, %d", thresh, n), server: rpcrdma.Config{Align: 64},
				call: script{items: []Item{bulk(n + 99 + thresh), text(n + 1), bulk(100), bulk(101)}, align: 64, thresh: n + 100}, want: "MSG 60", notRFC8166: true})
		}
	}
	for _, align := range []int{1, 2, 4, 8, 64, 512, 1024, 2048, 4096} {
		// The alignment of the receives, which the sender need not know.
		for _, own := range []int{0, 64, 2048} {
			add(&handCall{name: fmt.Sprintf("padding to %d, receives aligned to %d", align, own), server: rpcrdma.Config{Align: own, InlineRecv: 16384},
				call: script{items: []Item{text(5), bulk(401), text(400), bulk(403)}, align: align, thresh: 100}, want: "MSG 60", notRFC8166: true})
		}
	}
	for _, align := range []int{3, 12, 8192, 1 << 31} {
		c := &handCall{name: fmt.Sprintf("padding to %d", align),
			call: script{items: three, align: align, thresh: 1 << 20}, want: refused}
		add(c)
	}
	add(&handCall{name: "padding beside read chunks", want: "MSG 60", notRFC8166: true,
		call:     script{items: []Item{bulk(301), bulk(500), bulk(302), bulk(77)}, reads: map[int][]int{1: {400, 100}, 3: {80}}, align: 128, thresh: 64},
		wantCall: "MSGP 956 align 128 thresh 64 pad 160 read 364:400+100 read 1184:80"})
	add(&handCall{name: "padding, and all that is long enough beside it", want: "MSG 60", notRFC8166: true,
		call: script{items: []Item{bulk(301), text(5)}, reads: map[int][]int{0: {301}}, align: 128, thresh: 64}})

	res := []Item{bulk(5), bulk(0), bulk(2001)}
	add(&handCall{name: "write chunks that all fit", results: res, writes: [][]int{{5}, {1}, {2001}},
		want: "MSG 156 write 5 write 0 write 2001", draft: "MSG 156 write 8 write 0 write 2004"})
	add(&handCall{name: "write chunks in many segments", results: res, writes: [][]int{{2, 2, 1}, {}, {1000, 1, 1000}},
		want: "MSG 204 write 2+2+1 write - write 1000+1+1000", draft: "MSG 204 write 2+2+4 write - write 1000+1+1003"})
	add(&handCall{name: "write chunks with room for the round-up in another segment", results: res, writes: [][]int{{5, 3, 8}, {4}, {2000, 1, 1, 1, 1}},
		want: "MSG 252 write 5+0+0 write 0 write 2000+1+0+0+0", draft: "MSG 252 write 5+3+0 write 0 write 2000+1+1+1+1"})
	add(&handCall{name: "write chunks with room for some of the round-up", results: res, writes: [][]int{{6}, {2}, {2001, 2}},
		want: "MSG 172 write 5 write 0 write 2001+0", draft: "MSG 172 write 8 write 0 write 2001+3"})
	add(&handCall{name: "write chunks partly filled", results: res, writes: [][]int{{3, 100, 7}, {50}, {999, 999, 999, 999}},
		want: "MSG 236 write 3+2+0 write 0 write 999+999+3+0", draft: "MSG 236 write 3+5+0 write 0 write 999+999+6+0"})
	add(&handCall{name: "write segments of no bytes", results: res, writes: [][]int{{0, 5, 0}, {0}, {0, 2001, 0, 2}},
		want: "MSG 236 write 0+5+0 write 0 write 0+2001+0+0", draft: "MSG 236 write 0+8+0 write 0 write 0+2001+0+3"})
	add(&handCall{name: "reply segments of no bytes", results: []Item{text(4000)}, reply: []int{0, 4000, 0, 40}, want: "NOMSG 96 reply 0+4000+0+40"})
	add(&handCall{name: "more write chunks than results", results: []Item{bulk(7)}, writes: [][]int{{8}, {8}, {1, 2, 3}, {}},
		want: "MSG 180 write 7 write 0 write 0+0+0 write -", draft: "MSG 180 write 8 write 0 write 0+0+0 write -"})
	add(&handCall{name: "write chunk without segments, so the result is inline", results: []Item{bulk(7), bulk(8)}, writes: [][]int{{}, {8}},
		want: "MSG 116 write - write 8"})
	add(&handCall{name: "write chunks and a reply chunk", results: []Item{bulk(5), text(4000), bulk(2001)}, writes: [][]int{{5}, {2001}}, reply: []int{100, 5000},
		want: "NOMSG 112 write 5 write 2001 reply 100+3956", draft: "NOMSG 112 write 8 write 2004 reply 100+3956"})
	add(&handCall{name: "reply chunk without segments", results: []Item{text(4)}, reply: []int{}, want: "MSG 76 reply -"})
	add(&handCall{name: "reply chunk of which the first segments are enough", results: []Item{text(4060)}, reply: []int{1, 4, 4095, 1, 4000},
		want: "NOMSG 112 reply 1+4+4095+0+0"})
	add(&handCall{name: "reply chunk just large enough", results: []Item{text(4060)}, reply: []int{1, 4, 4094, 1}, want: "NOMSG 96 reply 1+4+4094+1"})
	add(&handCall{name: "reply chunk too small by a byte", results: []Item{text(4060)}, reply: []int{1, 4, 4094}, want: refused, draft: "NOMSG 104 read 0:4100 reply 0+0+0"})
	add(&handCall{name: "reply chunk just large enough beside a read chunk", results: []Item{bulk(5000), text(4052)}, reply: []int{1, 4098, 1}, want: refused,
		draft: "NOMSG 104 read 36:5000 reply 1+4098+1"})
	add(&handCall{name: "reply chunk too small by a byte beside a read chunk", results: []Item{bulk(5000), text(4052)}, reply: []int{1, 4098}, want: refused,
		draft: "NOMSG 112 read 0:4100 read 36:5000 reply 0+0"})
	add(&handCall{name: "reply chunk in as many segments as a header can return", results: []Item{text(4000)}, reply: slices.Repeat([]int{100}, 62),
		want: "NOMSG 1024 reply " + filled(6200, 4040, 100, false)})
	add(&handCall{name: "reply chunk in more segments", results: []Item{text(4000)}, reply: slices.Repeat([]int{100}, 63), want: refused})
	add(&handCall{name: "write chunks that no reply can return", results: []Item{bulk(70)}, writes: [][]int{slices.Repeat([]int{1}, 70)}, reply: []int{5000}, want: refused})
	for _, n := range []int{1024, 1025} {
		c := &handCall{name: fmt.Sprintf("%d segments", n),
			call: script{items: []Item{bulk(n)},
				reads: map[int][]int{0: slices.Repeat([]int{1}, n)}}, want: "MSG 60",
			server: rpcrdma.Config{InlineRecv: rpcrdma.MaxInline}}
		if n > 1024 {
			c.want = refused
		}
		add(c)
	}
	add(&handCall{name: "all chunks in one call", call: script{items: three, long: []int{7, rest}, reads: map[int][]int{0: {36}, 2: {35, 35}}, order: interleaved},
		results: []Item{bulk(5), text(4000), bulk(2001)}, writes: [][]int{{5}, {1000, 1001}}, reply: []int{4056},
		want: "NOMSG 112 write 5 write 1000+1001 reply 4056", draft: "NOMSG 112 write 8 write 1000+1004 reply 4056"})
	add(&handCall{name: "no chunks for what does not fit", results: []Item{bulk(5000), text(5), bulk(99)}, want: refused, draft: "MSG 216 read 36:5000"})
	add(&handCall{name: "write chunk too small, padded call", call: script{items: []Item{bulk(301)}, align: 64, thresh: 60}, results: []Item{bulk(5001)}, writes: [][]int{{2500, 2500}},
		want: refused, draft: "MSG 132 read 36:5001 write 0+0"})

	// Calls to be refused.
	add(&handCall{name: "chunk longer than the data and its round-up", call: script{items: three, reads: map[int][]int{0: {37}}}, want: "MSG 52"})
	add(&handCall{name: "padding at position zero", call: script{items: three, align: 64, thresh: 4, long: []int{rest}}, want: "MSG 60"})
	return all
}

// TestCallsByHand: calls that our client never makes are understood, and answered through the
// chunks that they offer.
func TestCallsByHand(t *testing.T) {
	for _, c := range handCalls() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			everywhere(t, dialects, func(t *testing.T, d rpcrdma.Dialect, tap *tap, l transport.Listener, dial transport.Dialer) {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				s := NewServer(&Cell{Name: c.name, Args: c.call.items, Results: c.results})
				served := make(chan error, 1)
				go func() { served <- rpcrdma.Serve(ctx, l, s.Server, Config(c.server, d)) }()
				defer func() {
					s.Close()
					if err := hang.Receive(t, "the end of Serve", served); !errors.Is(err, oncrpc.ErrServerClosed) {
						t.Error(err)
					}
				}()
				ep, err := dial.Dial(ctx, l.Addr().String(), nil)
				if err != nil {
					t.Fatal(err)
				}
				c.run(t, d, tap, newHand(t, ep), s)
			})
		})
	}
}

func (c *handCall) run(t *testing.T, d rpcrdma.Dialect, tap *tap, h *rawEnd, s *Server) {
	const xid = 0x1001
	draft := d == rpcrdma.Draft
	hd := header{xid: xid, vers: 1, credit: 32}
	for _, w := range c.writes {
		hd.writes = append(hd.writes, h.target(w))
	}
	if hd.hasReply = c.reply != nil; hd.hasReply {
		hd.reply = h.target(c.reply)
	}
	h.send(c.call.build(h, hd, callBytes(xid, 1, c.call.items), nil))
	back, _, err := parseHeader(h.next())
	if err != nil {
		t.Fatal(err)
	}
	if len(back.reads) > 0 {
		for _, r := range back.reads {
			h.do(transport.OpRead, make([]byte, r.length), r.segment)
		}
		h.send((&header{xid: xid, vers: 1, credit: 32, proc: done}).append(nil))
	}
	h.send(append((&header{xid: xid + 1, vers: 1, credit: 32, proc: msg}).append(nil), callBytes(xid+1, 0, nil)...))
	h.next()

	want := c.want
	switch {
	case draft && c.draft != "":
		want = c.draft
	case !draft && (c.notRFC8166 || c.call.align > 0 && c.call.long == nil):
		want = refused
	}
	a := &audit{draft: draft, ours: [2]bool{false, true},
		limit: [2]int{1 << 20, rpcrdma.DefaultInline}, segment: [2]int{1 << 30,
			1 << 20}, above: c.server.PadAbove}
	if err := a.run(tap.events()); err != nil {
		t.Error(err)
	}
	x := a.exchanges[0]
	if c.wantCall != "" && draft && x.sawCall != c.wantCall {
		t.Errorf("the call is  %s\nwant        %s", x.sawCall, c.wantCall)
	}
	if x.sawBack != want {
		t.Errorf("the reply is  %s\nwant          %s", x.sawBack, want)
	}
	if want == refused || x.stat == garbageArgs {
		return
	}
	if err := s.Err(); err != nil {
		t.Error(err)
	}
	if b := callBytes(xid, 1, c.call.items); !bytes.Equal(x.args, b) {
		t.Errorf("the call is %d bytes, not the %d that were encoded", len(x.args), len(b))
	}
	if b := replyBytes(xid, 1, c.results); !bytes.Equal(x.results, b) {
		t.Errorf("the reply is %d bytes, not the %d that were encoded", len(x.results), len(b))
	}
}
