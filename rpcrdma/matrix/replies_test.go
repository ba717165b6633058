package matrix

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// handReply is a reply made by hand, in a way that our server never makes it.
type handReply struct {
	name     string
	reply    script
	room     []int // of the client's buffers; by default the lengths of the results
	maxReply int
	client   rpcrdma.Config
	serves   bool // the client also answers calls

	writes   map[int]int   // by item: the write chunk for it
	returned map[int][]int // by write chunk: the lengths returned, if not those of the data
	noWrites bool          // no write list is returned
	fewer    bool          // only the first write chunk is returned
	toReply  bool          // the message goes to the reply chunk
	inReply  []int         // the lengths returned for it, if not those of the message

	want    error // of the client
	rfc8166 error // the client's error in that dialect, if it differs
}

func handReplies() (all []*handReply) {
	add := func(r *handReply) { all = append(all, r) }
	segmented := rpcrdma.Config{SegmentSize: 1024, InlineSend: 1024, InlineRecv: 1024}
	three := []Item{bulk(33), text(5), bulk(70), bulk(6)}
	never := rpcrdma.ErrReplyReadList

	// Write and reply chunks.
	both := []Item{bulk(1501), text(1202), bulk(5)}
	add(&handReply{name: "write chunks and a reply chunk, all partly filled", reply: script{items: both}, room: []int{3000, 9}, maxReply: 2500, client: segmented,
		writes: map[int]int{0: 0, 2: 1}, toReply: true})
	odd := segmented
	odd.SegmentSize = 1025
	add(&handReply{name: "write chunks that end with a segment, the round-up in the next", reply: script{items: []Item{bulk(1025), bulk(2050)}}, room: []int{3000, 3000},
		client: odd, writes: map[int]int{0: 0, 1: 1}, returned: map[int][]int{0: {1025, 3, 0}, 1: {1025, 1025, 2}}})
	add(&handReply{name: "write chunks that end with a segment, the round-up beyond it", reply: script{items: []Item{bulk(1025), bulk(2050)}}, room: []int{3000, 3000},
		client: odd, writes: map[int]int{0: 0, 1: 1}, returned: map[int][]int{0: {1028, 0, 0}, 1: {1025, 1027, 0}}, rfc8166: chunks.ErrMalformed})
	add(&handReply{name: "write chunks that end with a segment, more than the round-up beyond it", reply: script{items: []Item{bulk(1025), bulk(2050)}}, room: []int{3000, 3000},
		client: odd, writes: map[int]int{0: 0, 1: 1}, returned: map[int][]int{1: {1025, 1028, 0}}, want: chunks.ErrMalformed})
	add(&handReply{name: "round-up behind a gap", reply: script{items: []Item{bulk(1023), bulk(2000)}}, room: []int{3000, 3000},
		client: segmented, writes: map[int]int{0: 0, 1: 1}, returned: map[int][]int{0: {1023, 1, 0}}, want: chunks.ErrMalformed})
	for n := range 10 {
		r := roundUp(n)
		items := []Item{bulk(n), bulk(1500)}
		add(&handReply{name: fmt.Sprintf("returned without the round-up, %d", n), reply: script{items: items}, room: []int{12, 1500}, client: segmented, writes: map[int]int{0: 0, 1: 1}})
		add(&handReply{name: fmt.Sprintf("returned with the round-up inside the buffer, %d", n), reply: script{items: items}, room: []int{12, 1500}, client: segmented,
			writes: map[int]int{0: 0, 1: 1}, returned: map[int][]int{0: {r}}})
		if n > 0 {
			c := &handReply{name: fmt.Sprintf("returned with the round-up beyond the buffer, %d", n), reply: script{items: items}, room: []int{n, 1500}, client: segmented,
				writes: map[int]int{0: 0, 1: 1}, returned: map[int][]int{0: {r}}}
			if n%4 != 0 {
				c.rfc8166 = chunks.ErrMalformed
			}
			add(c)
			add(&handReply{name: fmt.Sprintf("returned with four bytes too many, %d", n), reply: script{items: items}, room: []int{n, 1500}, client: segmented,
				writes: map[int]int{0: 0, 1: 1}, returned: map[int][]int{0: {r + 4}}, want: chunks.ErrMalformed})
		}
		// Read chunks.
		add(&handReply{name: fmt.Sprintf("read chunk with round-up, %d", n), reply: script{items: []Item{bulk(50), bulk(n), bulk(51)}, reads: map[int][]int{1: {r}, 2: {52}}}, rfc8166: never})
		add(&handReply{name: fmt.Sprintf("read chunk with round-up in a segment of its own, %d", n), rfc8166: never,
			reply: script{items: []Item{bulk(50), bulk(n), bulk(51)}, reads: map[int][]int{1: {n, r - n}, 2: {51, 1}}}})
		if n%4 > 0 {
			add(&handReply{name: fmt.Sprintf("read chunk with round-up in a chunk of its own, %d", n), rfc8166: never,
				reply: script{items: []Item{bulk(50), bulk(n), bulk(51)}, reads: map[int][]int{1: {n, r - n}, 2: {51, 1}}, apart: true, order: descending}})
		}
		add(&handReply{name: fmt.Sprintf("read chunk at position zero beside one of %d", n), rfc8166: never,
			reply: script{items: []Item{bulk(50), bulk(n), bulk(51)}, reads: map[int][]int{1: {r}}, long: []int{1, rest}}})
		for thresh := range 3 {
			add(&handReply{name: fmt.Sprintf("padding of %d bytes and more, %d", thresh, n), rfc8166: rpcrdma.ErrMalformed,
				reply: script{items: []Item{bulk(n), text(n), bulk(9)}, align: 32, thresh: thresh}})
			add(&handReply{name: fmt.Sprintf("padding above %d bytes, %d", thresh, n), rfc8166: rpcrdma.ErrMalformed, client: rpcrdma.Config{PadAbove: true, Align: 64},
				reply: script{items: []Item{bulk(n), text(n), bulk(9)}, align: 32, thresh: thresh, above: true}})
		}
	}
	add(&handReply{name: "write chunk not used, the data inline", reply: script{items: []Item{bulk(500), bulk(100)}}, room: []int{1000, 3000}, client: segmented, writes: map[int]int{1: 1}})
	add(&handReply{name: "no write chunk used, the data inline", reply: script{items: []Item{bulk(500), bulk(100)}}, room: []int{1000, 3000}, client: segmented})
	add(&handReply{name: "one write chunk returned of two", reply: script{items: []Item{bulk(500), bulk(100)}}, room: []int{1000, 3000}, client: segmented, fewer: true,
		want: rpcrdma.ErrMalformed})
	// The length of a message is a multiple of four bytes, so it has no round-up.
	add(&handReply{name: "reply chunk that ends behind a segment", reply: script{items: []Item{text(988)}}, maxReply: 2500, client: odd, toReply: true})
	add(&handReply{name: "reply chunk that says to end beyond a segment", reply: script{items: []Item{text(988)}}, maxReply: 2500, client: odd, toReply: true,
		inReply: []int{1028, 0, 0}, want: chunks.ErrMalformed})
	add(&handReply{name: "no write list returned", reply: script{items: []Item{bulk(500), bulk(100)}}, room: []int{1000, 3000}, client: segmented, noWrites: true})
	add(&handReply{name: "write chunk not used, the data in a read chunk", rfc8166: never, client: segmented,
		reply: script{items: []Item{bulk(500), bulk(100)}, reads: map[int][]int{0: {200, 300}}}, room: []int{1000, 3000}, writes: map[int]int{1: 1}})
	add(&handReply{name: "read chunk behind a write chunk", rfc8166: never, client: segmented,
		reply: script{items: []Item{bulk(2001), text(9), bulk(500), bulk(77)}, reads: map[int][]int{2: {200, 300}, 3: {77}}}, room: []int{2001}, maxReply: 700,
		writes: map[int]int{0: 0}})
	add(&handReply{name: "read chunk between write chunks", rfc8166: never, client: segmented,
		reply: script{items: []Item{bulk(2001), bulk(3), bulk(500), bulk(77)}, reads: map[int][]int{1: {3}, 3: {77}}}, room: []int{2001, 50, 600, 50},
		writes: map[int]int{0: 0, 2: 2}})
	add(&handReply{name: "position zero behind write chunks", rfc8166: never, client: segmented,
		reply: script{items: []Item{bulk(2001), text(9), bulk(500)}, reads: map[int][]int{2: {500}}, long: []int{rest}}, room: []int{2001}, maxReply: 700,
		writes: map[int]int{0: 0}})
	add(&handReply{name: "reply chunk beside read chunks", rfc8166: never, client: segmented,
		reply: script{items: []Item{bulk(800), text(1202), bulk(900)}, reads: map[int][]int{0: {800}, 2: {1, 899}}}, room: []int{}, maxReply: 4000, toReply: true})
	add(&handReply{name: "reply chunk beside write and read chunks", rfc8166: never, client: segmented,
		reply: script{items: []Item{bulk(800), text(1202), bulk(900)}, reads: map[int][]int{2: {1, 899}}}, room: []int{801}, maxReply: 4000, toReply: true, writes: map[int]int{0: 0}})

	// Read lists.
	add(&handReply{name: "position zero beside data", rfc8166: never, reply: script{items: three, long: []int{rest}, reads: map[int][]int{0: {33}, 2: {70}}}})
	add(&handReply{name: "position zero in segments", rfc8166: never, reply: script{items: three, long: []int{1, 2, 0, 30, rest}}})
	add(&handReply{name: "position zero between the others", rfc8166: never,
		reply: script{items: three, long: []int{50, rest}, reads: map[int][]int{0: {10, 23}, 2: {1, 60, 9}}, order: interleaved}})
	add(&handReply{name: "position zero last in the list", rfc8166: never,
		reply: script{items: three, long: []int{50, rest}, reads: map[int][]int{0: {33}, 2: {1, 69}}, order: descending}})
	add(&handReply{name: "segments of one position apart", rfc8166: never, reply: script{items: three, reads: map[int][]int{0: {1, 2, 30}, 2: {68, 1, 1}, 3: {3, 3}}, order: interleaved}})
	add(&handReply{name: "segments of no bytes", rfc8166: never, reply: script{items: three, reads: map[int][]int{0: {0, 33, 0}, 2: {70, 0}, 3: {0, 0, 6}}}})
	add(&handReply{name: "read list of no bytes at all", rfc8166: never, reply: script{items: []Item{bulk(0), bulk(5)}, reads: map[int][]int{0: {0, 0}}}})
	add(&handReply{name: "read chunk shorter than the data", rfc8166: never, want: errGarbage, reply: script{items: three, reads: map[int][]int{0: {37}}}})

	// Padding.
	for _, align := range []int{1, 2, 4, 8, 64, 512, 1024, 2048, 4096} {
		for _, own := range []int{0, 64, 1024} {
			add(&handReply{name: fmt.Sprintf("padding to %d, receives aligned to %d", align, own), client: rpcrdma.Config{Align: own, InlineRecv: 16384}, rfc8166: rpcrdma.ErrMalformed,
				reply: script{items: []Item{text(5), bulk(401), text(400), bulk(403)}, align: align, thresh: 100}})
		}
	}
	for _, align := range []int{3, 12, 8192, 1 << 31} {
		add(&handReply{name: fmt.Sprintf("padding to %d", align), reply: script{items: three, align: align, thresh: 1 << 20}, want: rpcrdma.ErrMalformed})
	}
	add(&handReply{name: "padding beside read chunks", rfc8166: rpcrdma.ErrMalformed,
		reply: script{items: []Item{bulk(301), bulk(500), bulk(302), bulk(77)}, reads: map[int][]int{1: {400, 100}, 3: {80}}, align: 128, thresh: 64}})
	add(&handReply{name: "padding beside a write chunk", rfc8166: rpcrdma.ErrMalformed, client: segmented,
		reply: script{items: []Item{bulk(301), bulk(500), bulk(302)}, align: 128, thresh: 64}, room: []int{10, 3000, 10}, writes: map[int]int{1: 1}})
	return all
}

// errGarbage stands for any error about the contents of a reply, as opposed to its header.
var errGarbage = errors.New("garbage results")

// TestRepliesByHand: replies that our server never makes are understood, or refused if the dialect
// says so. Each reply with a read list is followed by an RDMA_DONE.
func TestRepliesByHand(t *testing.T) {
	var all []*handReply
	for _, r := range handReplies() {
		all = append(all, r)
		// It could be a call if the client also answers calls.
		if len(r.reply.reads) > 0 || r.reply.long != nil {
			both := *r
			both.name, both.serves = both.name+", to who serves", true
			all = append(all, &both)
		}
	}
	for _, r := range all {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			in := dialects
			if r.serves { // otherwise a message at position zero is a call
				in = []rpcrdma.Dialect{rpcrdma.Draft}
			}
			everywhere(t, in, func(t *testing.T, d rpcrdma.Dialect, tap *tap, l transport.Listener, dial transport.Dialer) {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				defer l.Close()
				accepted := make(chan transport.Endpoint, 1)
				go func() {
					defer close(accepted)
					req, err := l.Accept(ctx)
					if err != nil {
						t.Error(err)
						return
					}
					own := []byte{0xf6, 0xab, 0x0e, 0x18, 1, 0, 31,
						31} // 32 KiB both ways (RFC 8797 section 4)
					ep, err := req.Accept(ctx, transport.Private(own))
					if err != nil {
						t.Error(err)
						return
					}
					accepted <- ep
				}()
				conn, err := rpcrdma.Dial(ctx, dial, l.Addr().String(), Config(r.client, d))
				if err != nil {
					t.Fatal(err)
				}
				defer func() {
					conn.Close()
					hang.Receive(t, "the end of the connection", conn.Done())
				}()
				if r.serves {
					s := NewServer(&Cell{})
					defer s.Close()
					conn.Serve(s.Server)
				}
				ep := hang.Receive(t, "the connection", accepted)
				if ep == nil {
					t.FailNow()
				}
				r.run(ctx, t, d, tap, conn, newHand(t, ep))
			})
		})
	}
}

func (r *handReply) run(ctx context.Context, t *testing.T, d rpcrdma.Dialect, tap *tap,
	conn *rpcrdma.Conn, h *rawEnd) {
	draft := d == rpcrdma.Draft
	cell := &Cell{Results: r.reply.items, Room: r.room, MaxReply: r.maxReply}
	ended := make(chan error, 1)
	go func() { ended <- cell.Call(ctx, conn, 1) }()
	call, _, err := parseHeader(h.next())
	if err != nil {
		t.Fatal(err)
	}
	back := r.answer(h, call)
	h.send(back)
	err = hang.Receive(t, "the end", ended)
	want := r.want
	if !draft && r.rfc8166 != nil {
		want = r.rfc8166
	}
	if want == errGarbage {
		var peer *rpcrdma.PeerError
		if err == nil || errors.As(err, &peer) || errors.Is(err, rpcrdma.ErrMalformed) || errors.Is(err, chunks.ErrMalformed) {
			t.Errorf("the call ends with %v, want an error about the results", err)
		}
	} else if !errors.Is(err, want) {
		t.Errorf("the call ends with %v, want %v", err, want)
	}
	sent, _, err := parseHeader(back)
	if err != nil {
		t.Fatal(err)
	}
	if draft && len(sent.reads) > 0 {
		if got, _, err := parseHeader(h.next()); err != nil || got.proc != done || got.xid != call.xid {
			t.Errorf("behind the reply comes %+v, error %v; want an RDMA_DONE", got, err)
		}
	}
	// The connection stays usable.
	go func() { ended <- cell.null(ctx, conn) }()
	call, _, err = parseHeader(h.next())
	if err != nil || call.proc == done {
		t.Fatalf("%+v instead of a call, error %v", call, err)
	}
	h.send(append((&header{xid: call.xid, vers: 1, credit: 32}).append(nil), replyBytes(call.xid, 0, nil)...))
	if err := hang.Receive(t, "the end", ended); err != nil {
		t.Error(err)
	}
	a := &audit{draft: draft, ours: [2]bool{true, false}, limit: [2]int{4096, 1 << 20},
		segment: [2]int{1 << 20, 1 << 30}, refuses: want != nil && want != errGarbage,
		above: r.client.PadAbove, garbage: want != nil}
	if err := a.run(tap.events()); err != nil {
		t.Error(err)
	}
}

// answer writes to the chunks of a call and returns the reply.
func (r *handReply) answer(h *rawEnd, call header) []byte {
	whole := replyBytes(call.xid, 1, r.reply.items)
	hd := header{xid: call.xid, vers: 1, credit: 32, proc: msg, hasReply: call.hasReply}
	at, length, first := opaques(r.reply.items, false)
	data := make(map[int][]byte) // by write chunk
	away := make(map[int]bool)
	for item, w := range r.writes {
		away[item] = true
		data[w] = whole[at[first+item] : at[first+item]+length[first+item]]
	}
	fill := func(c chunk, p []byte, returned []int) (out chunk) {
		for i, s := range c {
			n := min(int(s.length), len(p))
			if n > 0 {
				h.do(transport.OpWrite, p[:n], s)
			}
			p = p[n:]
			s.length = uint32(n)
			if returned != nil {
				s.length = uint32(returned[i])
			}
			out = append(out, s)
		}
		if len(p) > 0 {
			h.t.Fatalf("%d bytes do not fit in a chunk", len(p))
		}
		return out
	}
	if !r.noWrites {
		for i, w := range call.writes {
			hd.writes = append(hd.writes, fill(w, data[i], r.returned[i]))
		}
	}
	if r.fewer {
		hd.writes = hd.writes[:1]
	}
	if !r.toReply {
		hd.reply = fill(call.reply, nil, nil)
		return r.reply.build(h, hd, whole, away)
	}
	// What build leaves inline goes to the reply chunk.
	b := r.reply.build(h, hd, whole, away)
	hd, body, err := parseHeader(b)
	if err != nil {
		h.t.Fatal(err)
	}
	hd.proc, hd.reply = nomsg, fill(call.reply, body, r.inReply)
	return hd.append(nil)
}
