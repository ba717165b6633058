package rpcrdma_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

var dialects = []rpcrdma.Dialect{rpcrdma.RFC8166, rpcrdma.Draft}

// counted returns what has been counted between two looks.
func counted(before, after rpcrdma.Stats) rpcrdma.Stats {
	return combine(after, before, func(a, b uint64) uint64 { return a - b })
}

// sum returns the sums of two sets of counters.
func sum(s, more rpcrdma.Stats) rpcrdma.Stats {
	return combine(s, more, func(a, b uint64) uint64 { return a + b })
}

func combine(s, other rpcrdma.Stats, f func(a, b uint64) uint64) rpcrdma.Stats {
	a, b := reflect.ValueOf(&s).Elem(), reflect.ValueOf(other)
	for i := range a.NumField() {
		a.Field(i).SetUint(f(a.Field(i).Uint(), b.Field(i).Uint()))
	}
	return s
}

// wantCount checks what c has counted since before.
func wantCount(t *testing.T, c *rpcrdma.Conn, before, want rpcrdma.Stats) {
	t.Helper()
	if diff := cmp.Diff(want, counted(before, c.Stats())); diff != "" {
		t.Errorf("counters (-want +got):\n%s", diff)
	}
}

// malformedGrant is how many of the messages come at once: all that malformedConfig grants.
const malformedGrant = 4

// malformedConfig is that of who gets the malformed messages. There is just enough memory.
func malformedConfig(d rpcrdma.Dialect) rpcrdma.Config {
	const memory = malformedGrant * 2 * smallMessage
	return rpcrdma.Config{
		Dialect: d, InlineRecv: bigReceive, MaxMessage: smallMessage,
		Credits: malformedGrant, ConnMemory: memory, ServerMemory: 2 * memory,
	}
}

// nextBytes returns the next message that arrives, as it is.
func (p *rawPeer) nextBytes() []byte {
	p.t.Helper()
	return wait(p.t, p.msgs).b
}

// wantAnswers checks the next messages that arrive, if there are to be any. Their order does not
// count, because several workers answer.
func (p *rawPeer) wantAnswers(f outcome, grant uint32, xids ...uint32) {
	p.t.Helper()
	if f.answer == nil {
		return // an answer would be the next message, which was something else
	}
	var got, want []string
	for _, xid := range xids {
		got, want = append(got, string(p.nextBytes())), append(want, string(f.answer(xid, grant)))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		p.t.Errorf("answers\n%x, want\n%x", got, want)
	}
}

// TestMalformed sends a server all malformed messages, as many at once as it grants. It answers as
// its dialect says and counts them. No receive, credit or memory is lost.
func TestMalformed(t *testing.T) {
	for _, d := range dialects {
		for name, newRig := range map[string]func(testing.TB, rpcrdma.Config) *rig{
			"loopback": newRig, "iwarp": newWireRig, "aligned": newRig,
		} {
			cfg := malformedConfig(d)
			if name == "aligned" && d == rpcrdma.Draft {
				cfg.Align = 64 // headers span the two buffers of a receive
			}
			t.Run(fmt.Sprintf("%v %s", d, name), func(t *testing.T) {
				r := newRig(t, cfg)
				p := r.raw(inline4k)
				p.alive()
				conn := wait(t, r.program.conns)
				l := r.ledgers.of(t, conn)
				p.checkReceives(l)
				alive := rpcrdma.Stats{CallsReceived: 1}
				testMalformed(t, d, p, conn, l, true, malformedGrant, p.alive, alive)
				r.memoryBack(p)
				p.ep.Close()
				ended(t, conn)
				if name != "iwarp" {
					r.allBack()
				}
			})
		}
	}
}

// malformedClient returns a client that works, its peer, and the credits that it grants.
func malformedClient(
	t *testing.T, d rpcrdma.Dialect, serves bool,
) (c *rpcrdma.Conn, p *rawPeer, grant uint32) {
	t.Helper()
	c, p = rawServer(t, malformedConfig(d), inline4k)
	grant = 1
	if serves {
		serveBack(t, c)
		p.alive()
		grant = malformedGrant
	}
	callAnswered(t, c, p)
	return c, p, grant
}

// TestMalformedToClient sends all malformed messages to a client without pending calls: one that
// serves, and one that does not, which grants only one credit.
func TestMalformedToClient(t *testing.T) {
	for _, d := range dialects {
		for _, serves := range []bool{true, false} {
			t.Run(fmt.Sprintf("%v serves %v", d, serves), func(t *testing.T) {
				c, p, grant := malformedClient(t, d, serves)
				works, call := func() { callAnswered(t, c, p) }, rpcrdma.Stats{CallsSent: 1}
				testMalformed(t, d, p, c, p.clientLedger, serves, grant, works, call)
			})
		}
	}
}

// testMalformed has p send all malformed messages to conn. works makes a call from the end that
// calls, and conn counts that as call.
func testMalformed(t *testing.T, d rpcrdma.Dialect, p *rawPeer, conn *rpcrdma.Conn, l *ledger,
	serves bool, grant uint32, works func(), call rpcrdma.Stats) {
	before := l.state()
	for _, m := range malformedMessages() {
		want := m.outcome(d, serves)
		if want.rpc && !serves {
			continue
		}
		ok := t.Run(m.name, func(t *testing.T) {
			p.t = t
			counters, count := conn.Stats(), call
			var msgs [][]byte
			var xids []uint32
			for xid := uint32(0x1000); xid < 0x1000+grant; xid++ {
				if len(msgs) > 0 && len(msgs) == int(grant)-1 && want.answer == nil {
					break // the call of works may come before these have been handled
				}
				xids, msgs = append(xids, xid), append(msgs, m.msg(xid))
				count = sum(count, want.count)
			}
			p.burst(msgs...)
			p.wantAnswers(want, grant, xids...)
			works()
			wantCount(t, conn, counters, count)
			waitFor(t, func() bool {
				now := l.state()
				return now.Awaited == before.Awaited && now.Windows == before.Windows
			})
		})
		if !ok {
			break
		}
	}
	p.t = t
}

// callAnswered makes a call, which is the next thing that the server gets, and answers it.
func callAnswered(t *testing.T, c *rpcrdma.Conn, p *rawPeer) {
	t.Helper()
	s := start(context.Background(), c, &items{}, nil)
	h, body := p.next()
	if h.Type != rpcrdma.TypeMsg || len(body) != 48 {
		t.Fatalf("got %v with %d bytes, want a call", h.Type, len(body))
	}
	p.answer(h.XID)
	if err := wait(t, s.err); err != nil {
		t.Fatal(err)
	}
}

// TestMalformedReplies sends all malformed messages with the XIDs of pending calls, as many as are
// granted. A message that may be a reply ends its call, whether the caller still waits or not. It
// is never answered with an error, and in the Draft by an RDMA_DONE if it has a read list. Other
// messages do not affect the calls. No receive or credit is lost.
func TestMalformedReplies(t *testing.T) {
	for _, d := range dialects {
		t.Run(d.String(), func(t *testing.T) { testMalformedReplies(t, d, false, false) })
		t.Run(d.String()+", serves", func(t *testing.T) { testMalformedReplies(t, d, true, false) })
		t.Run(d.String()+", late", func(t *testing.T) { testMalformedReplies(t, d, false, true) })
	}
}

func testMalformedReplies(t *testing.T, d rpcrdma.Dialect, serves, late bool) {
	c, p, grant := malformedClient(t, d, serves)
	state := p.clientLedger.state()
	for _, m := range malformedMessages() {
		v := m.verdict(d)
		if d == rpcrdma.RFC8166 && serves && v.count.CallsReceived > 0 {
			// No reply has a read list, so a long message is a call (docs/readings.md, 8).
			v.ends = nil
		}
		if v.rpc && !serves || v.ends == nil && late {
			continue
		}
		ok := t.Run(m.name, func(t *testing.T) {
			p.t = t
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var calls []*started
			var xids []uint32
			for range malformedGrant {
				calls = append(calls, start(ctx, c, &items{}, nil))
				h, _ := p.next()
				xids = append(xids, h.XID)
			}
			ends := v.ends
			if late {
				cancel()
				ends = context.Canceled
				for _, s := range calls {
					checkEnd(t, wait(t, s.err), ends)
				}
			}
			before, want := c.Stats(), rpcrdma.Stats{}
			for _, xid := range xids {
				p.sendBytes(m.msg(xid))
				if v.ends != nil {
					want = sum(want, endCount(v))
				} else {
					want = sum(want, v.count)
				}
			}
			if v.ends == nil {
				p.wantAnswers(v.outcome, grant, xids...)
				for _, xid := range xids {
					p.answer(xid)
				}
			}
			for i, s := range calls {
				if !late {
					checkEnd(t, wait(t, s.err), ends)
				}
				if v.done {
					p.nextDone(xids[i], malformedGrant)
				}
			}
			if !late {
				wantCount(t, c, before, want)
			}
			callAnswered(t, c, p) // its call is the next message
			if got := counted(before, c.Stats()); got.ErrorsRecv != want.ErrorsRecv ||
				got.ErrorsSent != want.ErrorsSent || got.UnknownXID != want.UnknownXID {
				t.Errorf("counters %+v", got)
			}
			waitFor(t, func() bool {
				_, used, _ := c.Credits()
				return p.clientLedger.state() == state && used == 0
			})
		})
		if !ok {
			break
		}
	}
	p.t = t
}

// checkEnd checks the error of a call.
func checkEnd(t *testing.T, err, want error) {
	t.Helper()
	is := false
	switch want := want.(type) { //nolint:errorlint // the value comes from the table
	case *rpcrdma.PeerError:
		var got *rpcrdma.PeerError
		is = errors.As(err, &got) && *got == *want
	case *oncrpc.ReplyTooLongError:
		var got *oncrpc.ReplyTooLongError
		is = errors.As(err, &got) && *got == *want
	default:
		is = errors.Is(err, want)
	}
	if !is {
		t.Errorf("the call ends with %v, want %v", err, want)
	}
	if errors.Is(err, chunks.ErrMalformed) && !errors.Is(err, rpcrdma.ErrMalformed) {
		t.Errorf("the call ends with %v, which is not ErrMalformed", err)
	}
}

// endCount is what a client counts when a message ends a call.
func endCount(v verdict) (s rpcrdma.Stats) {
	s.Padded = v.count.Padded
	var pe *rpcrdma.PeerError
	switch {
	case errors.As(v.ends, &pe):
		s.ErrorsRecv = 1
	case errors.Is(v.ends, rpcrdma.ErrVersion):
		s.BadVersion = 1
	case errors.Is(v.ends, oncrpc.ErrMalformedReply): // an error of the RPC layer
	default:
		s.Malformed = 1
	}
	if v.done {
		s.DonesSent = 1
	}
	return s
}

// TestCreditsOfErrors sends bad headers that ask for, or grant, between 0 and 2^32-1 credits.
func TestCreditsOfErrors(t *testing.T) {
	const most = 8
	for _, tt := range []struct{ n, want uint32 }{
		{0, 1}, {1, 1}, {most, most}, {most + 1, most}, {1<<32 - 1, most},
	} {
		t.Run(fmt.Sprint(tt.n), func(t *testing.T) {
			p := newRig(t, rpcrdma.Config{Credits: most}).raw(inline4k)
			for _, w := range [][]uint32{{1, tt.n, 77}, {2, tt.n, 0}, {1, tt.n, 0, 0, 0, 0}} {
				p.sendBytes(be32(append([]uint32{9}, w...)...))
				if got, _ := p.next(); got.Type != rpcrdma.TypeError || got.Credits != tt.want {
					t.Errorf("answer %v grants %d, want %d", got.Type, got.Credits, tt.want)
				}
			}
			c, s := rawServer(t, rpcrdma.Config{Credits: most}, inline4k)
			for _, w := range [][]uint32{
				{1, tt.n, 4, 2}, {2, tt.n, 4, 1, 1, 1}, {1, tt.n, 77}, {2, tt.n, 0},
			} {
				callAnswered(t, c, s) // grants all
				call := start(t.Context(), c, &items{}, nil)
				h, _ := s.next()
				s.sendBytes(be32(append([]uint32{h.XID}, w...)...))
				if wait(t, call.err) == nil {
					t.Error("no error")
				}
				grant, used, _ := c.Credits()
				if want := int(min(tt.n, most)); grant != want || used != 0 {
					t.Errorf("%x: a grant of %d, and %d used; want %d and 0", w, grant, used, want)
				}
			}
			callAnswered(t, c, s)
		})
	}
}

// TestStrayGrants sends a client messages without a known direction, or that match no call. Their
// credits are neither a grant nor a request (rfc8167-4.1-1).
func TestStrayGrants(t *testing.T) {
	c, p := rawServer(t, rpcrdma.Config{}, inline4k)
	serveBack(t, c)
	s := start(t.Context(), c, &items{}, nil)
	h, _ := p.next()
	r := header(h.XID, rpcrdma.TypeMsg)
	r.Credits = 7
	p.send(r, replyHeader(h.XID), be32(0, 7))
	if err := wait(t, s.err); err != nil {
		t.Fatal(err)
	}
	for _, msg := range []func(uint32) []byte{
		head(rpcrdma.TypeDone), head(rpcrdma.TypeError, 2), head(rpcrdma.TypeError),
		withReply(lists(rdmaMsg, none)),
	} {
		p.sendBytes(msg(h.XID + 1))
	}
	p.alive() // a call, the first to be answered
	if grant, _, _ := c.Credits(); grant != 7 {
		t.Errorf("granted %d, want 7", grant)
	}
}

// TestFatal does what the protocol has no answer for, so that RDMA itself ends the connection.
// Other connections are not affected.
func TestFatal(t *testing.T) {
	sink := func(xid uint32) []byte {
		return append(callBytes(xid, procSink, nil), be32(1, 0xfeedbeef, 4, 7)...)
	}
	get := func(xid uint32) []byte { return callBytes(xid, procSource, &source{1, 5000}) }
	end := []uint32{0xbad, 9000, 0xffffffff, 1<<32 - 9000}
	r := newRig(t, rpcrdma.Config{})
	witness := r.raw(inline4k)
	for _, tt := range []struct {
		name string // and why
		msg  func(xid uint32) []byte
	}{
		{"message longer than a receive", func(uint32) []byte { return make([]byte, 4097) }},
		{"long call that cannot be read", lists(rdmaNoMsg, readWords(0, 40), none)},
		{"argument that cannot be read", with(lists(rdmaMsg, readWords(52, 4), none), sink, 0)},
		{"result that cannot be written", with(lists(rdmaMsg, writeChunk(segWords(5000))), get, 0)},
		{"reply chunk at the end of memory", with(lists(rdmaMsg, replyChunk(end)), get, 0)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := r.raw(inline4k)
			p.t = t
			p.alive()
			conn := wait(t, r.program.conns)
			p.burst(tt.msg(1))
			ended(t, conn)
			if s := conn.Stats(); s.Exceeded != 0 || s.ErrorsSent != 0 {
				t.Errorf("counters %+v", s)
			}
			if long := len(tt.msg(1)) > 4096; errors.Is(conn.Err(), transport.ErrTooLong) != long {
				t.Errorf("ended with %v", conn.Err())
			}
			witness.t = t
			witness.alive()
			hang.Receive(t, "the connection", r.program.conns)
		})
	}
}

// TestStrayLongReply sends long replies that match no call. Only their messages, once fetched, show
// that they are no calls. They are not answered with an error, and cost no receive.
func TestStrayLongReply(t *testing.T) {
	r := newRig(t, rpcrdma.Config{Credits: 2})
	p := r.raw(inline4k)
	p.alive()
	conn := wait(t, r.program.conns)
	before := conn.Stats()
	for i := range uint64(10) {
		h := header(uint32(i), rpcrdma.TypeNoMsg)
		h.Reads = p.readSegments(0, replyHeader(h.XID))
		p.send(h)
		waitFor(t, func() bool { return conn.Stats().UnknownXID == i+1 })
	}
	p.checkReceives(r.ledgers.of(t, conn)) // its reply is the first message
	if p.granted != 2 {
		t.Errorf("granted %d, want 2", p.granted)
	}
	wantCount(t, conn, before, rpcrdma.Stats{CallsReceived: 11, UnknownXID: 10})
}

// TestReadListNotAgreed: a client sends read lists although it agreed to serve no RDMA Reads (draft
// section 6.2). Nothing is read.
func TestReadListNotAgreed(t *testing.T) {
	for _, d := range dialects {
		r := newRig(t, rpcrdma.Config{Dialect: d})
		p := r.raw(inline4k)
		p.alive()
		conn := wait(t, r.program.conns)
		conn.UpdateSettings(func(s *rpcrdma.Settings) { s.Reads = 0 })
		state := r.ledgers.of(t, conn).state()
		for _, typ := range []rpcrdma.Type{rdmaMsg, rdmaNoMsg} {
			counters := conn.Stats()
			rc := newReadCall(p, 9, false, 5000)
			if rc.h.Type = typ; typ == rdmaNoMsg {
				rc.h.Reads = append(rc.h.Reads, p.readSegments(0, rc.body)...)
				rc.body = nil
			}
			p.send(rc.h, rc.body)
			p.wantAnswers(refusedCall, asked, 9)
			p.alive()
			wantCount(t, conn, counters, sum(refusedCall.count, rpcrdma.Stats{CallsReceived: 1}))
		}
		waitFor(t, func() bool { return r.ledgers.of(t, conn).state() == state })
		// The calls of memoryBack need these Reads.
		conn.UpdateSettings(func(s *rpcrdma.Settings) { s.Reads = 16 })
		r.memoryBack(p)
	}
}

// fewWindows is an endpoint that can expose as much memory as is left.
type fewWindows struct {
	transport.Endpoint
	left *atomic.Int32
}

func (e fewWindows) Expose(dst []transport.Region, list []transport.Slice,
	access transport.Access) ([]transport.Region, error) {
	if e.left.Add(-1) < 0 {
		return dst, transport.ErrNoMemory
	}
	return e.Endpoint.Expose(dst, list, access)
}

// TestReplyReadsHalfExposed: the provider fails to expose part of a reply that the client should
// read. The client gets ERR_CHUNK, and no memory stays in use.
func TestReplyReadsHalfExposed(t *testing.T) {
	var left atomic.Int32
	wrap := func(ep transport.Endpoint) transport.Endpoint { return fewWindows{ep, &left} }
	r := newRigOn(t, malformedConfig(rpcrdma.Draft), loopback.Config{}, wrap)
	p := r.raw(inline4k)
	p.alive()
	conn := wait(t, r.program.conns)
	state := r.ledgers.of(t, conn).state()
	for n := range int32(3) {
		left.Store(n)
		p.send(header(9, rpcrdma.TypeMsg), callBytes(9, procSource, &source{3, 5000}))
		p.wantAnswers(refusedCall, malformedGrant, 9)
		p.alive()
		r.freed(3)
		waitFor(t, func() bool { return r.ledgers.of(t, conn).state() == state })
	}
	left.Store(100)
	r.memoryBack(p)
	p.source(9, 3, 5000)
	p.done(9)
	r.freed(3)
}
