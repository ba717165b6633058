package rpcrdma

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// TestBadReplyReads has the server send read lists in error. The call ends with a typed error; the server gets one RDMA_DONE all the same,
// as it may hold memory for the reply, and the connection lives on.
func TestBadReplyReads(t *testing.T) {
	const size = 5001
	data := pattern(1, size)
	bulk := func(p *rawPeer, h *Header, position uint32, parts ...[]byte) {
		r := header(h.XID, TypeMsg)
		r.Reads = p.readSegments(position, parts...)
		p.send(r, result(h.XID, size))
	}
	long := func(p *rawPeer, h *Header, message []byte) {
		r := header(h.XID, TypeNoMsg)
		r.Reads = p.readSegments(0, message)
		p.send(r)
	}
	tests := []struct {
		name   string
		answer func(p *rawPeer, h *Header)
		want   error
	}{
		{"overlap", func(p *rawPeer, h *Header) {
			r := header(h.XID, TypeMsg)
			r.Reads = append(p.readSegments(36, data), p.readSegments(40, data)...)
			p.send(r, result(h.XID, size))
		}, chunks.ErrMalformed},
		{"position that is no multiple of four", func(p *rawPeer, h *Header) { bulk(p, h, 37, data) }, chunks.ErrMalformed},
		{"position past the end", func(p *rawPeer, h *Header) { bulk(p, h, 44, data) }, chunks.ErrMalformed},
		{"position above 2 GiB", func(p *rawPeer, h *Header) { bulk(p, h, 1<<31, data) }, chunks.ErrMalformed},
		{"position of no item", func(p *rawPeer, h *Header) { bulk(p, h, 28, data) }, xdr.ErrChunk},
		{"shorter than the stream says", func(p *rawPeer, h *Header) { bulk(p, h, 36, data[1:]) }, xdr.ErrChunk},
		{"longer than the stream says", func(p *rawPeer, h *Header) { bulk(p, h, 36, data, data[:4]) }, xdr.ErrChunk},
		{"longer than MaxMessage", func(p *rawPeer, h *Header) { bulk(p, h, 36, make([]byte, 65537)) }, chunks.ErrMalformed},
		{"4 GiB in two segments", func(p *rawPeer, h *Header) {
			r := header(h.XID, TypeMsg)
			r.Reads = p.readSegments(36, data, data)
			r.Reads[0].Length, r.Reads[1].Length = 1<<31, 1<<31
			p.send(r, result(h.XID, size))
		}, chunks.ErrMalformed},
		{"long, longer than MaxMessage with the chunk beside it", func(p *rawPeer, h *Header) {
			r := header(h.XID, TypeNoMsg)
			r.Reads = append(p.readSegments(0, result(h.XID, size)), p.readSegments(36, make([]byte, 65536))...)
			p.send(r)
		}, chunks.ErrMalformed},
		{"long beside a message", func(p *rawPeer, h *Header) {
			r := header(h.XID, TypeMsg)
			r.Reads = p.readSegments(0, echoReply(h.XID, data))
			p.send(r, result(h.XID, size))
		}, ErrMalformed},
		{"long beside a reply chunk in use", func(p *rawPeer, h *Header) {
			r := header(h.XID, TypeNoMsg)
			r.SetReply(h.Reply)
			r.Reads = p.readSegments(0, echoReply(h.XID, data))
			p.send(r)
		}, ErrMalformed},
		{"no message", func(p *rawPeer, h *Header) {
			r := header(h.XID, TypeNoMsg)
			r.Reads = p.readSegments(36, data)
			p.send(r)
		}, chunks.ErrMalformed},
		{"past the end of the message in the reply chunk", func(p *rawPeer, h *Header) {
			m := result(h.XID, size)
			p.writeChunk(h.Reply, m)
			r := header(h.XID, TypeNoMsg)
			segs, _ := chunks.Fill(nil, h.Reply, len(m))
			r.SetReply(segs)
			r.Reads = p.readSegments(uint32(len(m)+4), data)
			p.send(r)
		}, chunks.ErrMalformed},
		{"reply chunk longer than offered", func(p *rawPeer, h *Header) {
			r := header(h.XID, TypeNoMsg)
			r.SetReply(h.Reply)
			r.Reply[0].Length = 1<<32 - 1
			r.Reads = p.readSegments(36, data)
			p.send(r)
		}, chunks.ErrMalformed},
		{"long and too short for a message", func(p *rawPeer, h *Header) { long(p, h, be32(h.XID)) }, ErrMalformed},
		{"long with another XID", func(p *rawPeer, h *Header) { long(p, h, echoReply(h.XID+1, data)) }, ErrXID},
		{"long with a call", func(p *rawPeer, h *Header) { long(p, h, callBytes(h.XID, procNull, nil)) }, ErrMalformed},
		{"long and truncated", func(p *rawPeer, h *Header) { long(p, h, replyHeader(h.XID)[:20]) }, oncrpc.ErrReply},
		{"long with bytes left over", func(p *rawPeer, h *Header) { long(p, h, append(echoReply(h.XID, data), 0, 0, 0, 0)) }, oncrpc.ErrReply},
		{"another XID in the message", func(p *rawPeer, h *Header) {
			r := header(h.XID, TypeMsg)
			r.Reads = p.readSegments(36, data)
			p.send(r, result(h.XID+1, size))
		}, ErrXID},
		{"a write list that was not offered", func(p *rawPeer, h *Header) {
			r := header(h.XID, TypeMsg)
			r.AddWrite([]chunks.Segment{{Handle: 1, Length: 1}})
			r.Reads = p.readSegments(36, data)
			p.send(r, result(h.XID, size))
		}, ErrMalformed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, p := rawServer(t, Config{Dialect: Draft, MaxMessage: 65536}, inline4k)
			goesOn(t, c, p)
			s := start(t.Context(), c, &items{data: [][]byte{data}}, nil)
			h, _ := p.next()
			tt.answer(p, h)
			if err := wait(t, s.err); !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
			p.nextDone(h.XID, 64)
			goesOn(t, c, p)
			if got := c.Stats(); got.DonesSent != 1 {
				t.Errorf("counters %+v", got)
			}
		})
	}
}

// TestReplyReadsImpossible has a client get read lists that it cannot read, as the server said to serve no Reads, or the connection can make none. The server learns that it
// may free them.
func TestReplyReadsImpossible(t *testing.T) {
	for _, tt := range []string{"said so", "no ORD"} {
		t.Run(tt, func(t *testing.T) {
			wrap := func(d transport.Dialer) transport.Dialer { return d }
			if tt == "no ORD" {
				wrap = func(d transport.Dialer) transport.Dialer { return noReadsDialer{d} }
			}
			c, p := rawServerOn(t, Config{Dialect: Draft}, inline4k, wrap)
			if tt == "said so" {
				s := c.Settings()
				s.Reads = 0
				c.Agree(s)
			}
			s := start(t.Context(), c, &items{}, nil)
			h, _ := p.next()
			r := header(h.XID, TypeMsg)
			r.Reads = p.readSegments(36, make([]byte, 100))
			p.send(r, result(h.XID, 100))
			if err := wait(t, s.err); !errors.Is(err, transport.ErrNoReads) {
				t.Errorf("error %v, want %v", err, transport.ErrNoReads)
			}
			p.nextDone(h.XID, 64)
			goesOn(t, c, p)
		})
	}
}

// noReadsDialer makes connections that can make no Reads.
type noReadsDialer struct{ transport.Dialer }

func (d noReadsDialer) Dial(ctx context.Context, addr string, private []byte) (transport.Endpoint, error) {
	ep, err := d.Dialer.Dial(ctx, addr, private)
	return noReads{ep}, err
}

type noReads struct{ transport.Endpoint }

func (e noReads) Info() transport.Info {
	info := e.Endpoint.Info()
	info.ORD = 0
	return info
}

// TestReplyReadsToNoCall has replies with read lists come that no call awaits: unknown ones, ones to calls that are answered, and second ones while the first is
// read. They are counted, nothing is read of them, and no RDMA_DONE tells of them, since there may be no such reply at the server.
func TestReplyReadsToNoCall(t *testing.T) {
	holder := newReadHolder()
	c, p := rawServerOn(t, Config{Dialect: Draft}, inline4k, holder.wrap)
	held := wait(t, holder.made)
	goesOn(t, c, p)
	data := pattern(1, 5001)
	s := start(t.Context(), c, &items{}, nil)
	h, _ := p.next()
	unreadable := []chunks.ReadSegment{{Position: 36, Segment: chunks.Segment{Handle: 1, Length: 5001}}}
	send := func(xid uint32) {
		r := header(xid, TypeMsg)
		r.Reads = unreadable
		p.send(r, result(xid, 5001))
		r = header(xid, TypeNoMsg)
		r.Reads = []chunks.ReadSegment{{Segment: unreadable[0].Segment}}
		if xid == h.XID { // otherwise it is a call of the server's
			p.send(r)
		}
	}
	send(h.XID + 1)
	r := header(h.XID, TypeMsg)
	r.Reads = p.readSegments(36, data)
	p.send(r, result(h.XID, len(data)))
	send(h.XID)
	goesBeside(t, c, p)
	held.release(t, 1)
	if err := wait(t, s.err); err != nil || !bytes.Equal(s.reply.data[0], data) {
		t.Errorf("error %v, or the result differs", err)
	}
	p.nextDone(h.XID, 64)
	p.send(r, result(h.XID, len(data)))
	goesOn(t, c, p)
	if got := c.Stats(); got.UnknownXID != 4 || got.DonesSent != 1 {
		t.Errorf("counters %+v", got)
	}
}

// TestOurXIDInTheirCall has the peer make a long call with the transaction id of a call of ours, whose reply comes early, late, or to nobody
// (docs/readings.md, 8). In the Draft the call looks like a long reply until its message is here.
func TestOurXIDInTheirCall(t *testing.T) {
	for _, tt := range []struct {
		name               string
		reply              string // when ours comes
		cancelled          bool   // ours
		replyChunk, writes bool   // offered in theirs
	}{
		{name: "reply later", reply: "later"},
		{name: "reply while the call is read", reply: "meanwhile"},
		{name: "reply with a read list while the call is read", reply: "reads"},
		{name: "cancelled", reply: "later", cancelled: true},
		{name: "cancelled, reply while the call is read", reply: "meanwhile", cancelled: true},
		{name: "with a reply chunk", reply: "later", replyChunk: true},
		{name: "with a write list", reply: "meanwhile", writes: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			holder := newReadHolder()
			c, p := rawServerOn(t, Config{Dialect: Draft}, inline4k, holder.wrap)
			held := wait(t, holder.made)
			back := oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet})
			back.Handle(newProgram().program())
			defer back.Close()
			c.Serve(back)
			goesOn(t, c, p)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			s := start(ctx, c, &items{}, nil)
			h, _ := p.next()
			if tt.cancelled {
				cancel()
				if err := wait(t, s.err); !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			}
			data := pattern(3, 3000)
			long := header(h.XID, TypeNoMsg)
			long.Credits = 50
			long.Reads = p.readSegments(0, callBytes(h.XID, procEcho, &items{data: [][]byte{data}, tail: 7}))
			if tt.replyChunk {
				long.SetReply([]chunks.Segment{p.expose(make([]byte, 8000), transport.RemoteWrite)})
			}
			if tt.writes {
				long.AddWrite([]chunks.Segment{p.expose(make([]byte, 8000), transport.RemoteWrite)})
			}
			p.send(long)
			answer := func() { p.send(header(h.XID, TypeMsg), replyHeader(h.XID), be32(0, 7)) }
			switch tt.reply {
			case "meanwhile":
				answer()
			case "reads":
				r := header(h.XID, TypeNoMsg)
				r.Reads = p.readSegments(0, append(replyHeader(h.XID), be32(0, 7)...))
				p.send(r)
			}
			goesBeside(t, c, p) // which comes behind it
			close(held.off)
			for len(held.reads) > 0 {
				held.release(t, 1)
			}
			got, body := p.next()
			wantDones := uint64(0)
			if tt.reply == "reads" {
				wantDones = 1
				done, second := p.next()
				if got.Type == TypeDone { // in either order
					got, body, done = done, second, got
				}
				if done.Type != TypeDone || done.XID != h.XID {
					t.Errorf("%v, want RDMA_DONE", done.Type)
				}
			}
			if got.Type != TypeMsg || got.XID != h.XID {
				t.Fatalf("answer to the peer's call: %v", got.Type)
			}
			want := data
			if tt.writes {
				want = result(h.XID, len(data))[24:]
			}
			if !bytes.Contains(body, want) {
				t.Error("answer to the peer's call differs")
			}
			if tt.reply == "later" {
				if len(s.err) > 0 {
					t.Error("the call ended without its reply")
				}
				answer()
			}
			if !tt.cancelled {
				if err := wait(t, s.err); err != nil {
					t.Errorf("our call: %v", err)
				}
			}
			goesOn(t, c, p)
			if got := c.Stats(); got.DonesSent != wantDones || got.UnknownXID != 0 || got.Malformed != 0 || got.CallsReceived != 1 {
				t.Errorf("counters %+v", got)
			}
		})
	}
}

// TestBothWaysReads has two real ends call each other with the same transaction ids, in long calls with long replies.
func TestBothWaysReads(t *testing.T) {
	cfg := Config{Dialect: Draft, NoReplyChunks: true, MinChunk: 1 << 20}
	r := newRig(t, cfg)
	c := r.dial(cfg)
	back := oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet})
	back.Handle(newProgram().program())
	defer back.Close()
	c.Serve(back)
	if err := client(c).Call(t.Context(), procNull, nil, nil); err != nil {
		t.Fatal(err)
	}
	conn := wait(t, r.program.conns)
	const calls, size = 100, 9000
	var wg sync.WaitGroup
	for i := range uint32(calls) {
		for _, from := range []*Conn{c, conn} {
			wg.Go(func() {
				m := callMessage(0, procEcho, &items{data: [][]byte{pattern(uint64(i), size)}, tail: i})
				x := oncrpc.Exchange{Call: m, MaxReply: 2 * size, XID: 1000 + i}
				if err := from.RoundTrip(t.Context(), &x); err != nil {
					t.Error(err)
					return
				}
				if got := x.Reply.Raw(24); !bytes.Equal(got, replyHeader(1000+i)) {
					t.Errorf("reply % x", got)
				}
				var got items
				got.UnmarshalXDR(&x.Reply)
				if got.tail != i || len(got.data) != 1 || !bytes.Equal(got.data[0], pattern(uint64(i), size)) {
					t.Error("reply differs")
				}
				x.Release()
			})
		}
	}
	wg.Wait()
	for _, end := range []*Conn{c, conn} {
		waitFor(t, func() bool { return end.Stats().DonesReceived == calls })
		if got := end.Stats(); got.DonesSent != calls || got.DonesIgnored != 0 || got.UnknownXID != 0 {
			t.Errorf("counters %+v", got)
		}
	}
}

func newSlowRig(t testing.TB, cfg Config) (*rig, chan *slowSends) {
	made := make(chan *slowSends, 16)
	return newRigOn(t, cfg, loopback.Config{}, func(l transport.Listener) transport.Listener { return slowListener{l, made} }), made
}

// source asks for items and returns the reply's header.
func (p *rawPeer) source(xid, count, size uint32) *Header {
	p.t.Helper()
	p.send(header(xid, TypeMsg), callBytes(xid, procSource, &source{count, size}))
	h, _ := p.next()
	if h.XID != xid || len(h.Reads) == 0 {
		p.t.Fatalf("answer %+v, want a reply with a read list", h)
	}
	return h
}

// TestDoneOvertakes has the RDMA_DONE arrive before the Send of the reply is known to be complete.
func TestDoneOvertakes(t *testing.T) {
	r, made := newSlowRig(t, Config{Dialect: Draft})
	p := r.raw(inline4k)
	p.alive()
	ep, conn := wait(t, made), wait(t, r.program.conns)
	ep.slow.Store(true)
	p.source(9, 2, 5001)
	p.done(9)
	waitFor(t, func() bool { return conn.Stats().DonesReceived == 1 })
	r.notFreed()
	ep.slow.Store(false)
	wait(t, ep.held)()
	r.freed(2)
	p.done(9) // once more, for nothing
	p.alive()
	r.notFreed()
	memoryBack(t, conn)
	if got := conn.Stats(); got.DonesReceived != 1 || got.DonesIgnored != 1 {
		t.Errorf("counters %+v", got)
	}
}

// TestDonesIgnored sends RDMA_DONEs that acknowledge nothing, more than there are credits: they are counted, and cost neither receives nor
// replies anything.
func TestDonesIgnored(t *testing.T) {
	for _, dialect := range []Dialect{RFC8166, Draft} {
		t.Run(dialect.String(), func(t *testing.T) {
			r := newRig(t, Config{Dialect: dialect, Credits: 4})
			p := r.raw(inline4k)
			p.alive()
			conn := wait(t, r.program.conns)
			want := uint64(0)
			if dialect == Draft {
				p.source(9, 1, 5001)
			}
			for i := range uint32(20) {
				p.done(100 + i)
				want++
			}
			p.alive()
			r.notFreed()
			if dialect == Draft {
				p.done(9)
				r.freed(1)
			}
			for range 20 {
				p.done(9)
				want++
			}
			p.alive()
			r.notFreed()
			memoryBack(t, conn)
			if got := conn.Stats().DonesIgnored; got != want {
				t.Errorf("%d RDMA_DONEs ignored, want %d", got, want)
			}
			conn.mu.Lock()
			posted, active, owed := conn.granter.State()
			if posted != 4 || active != 0 || owed != 0 || len(conn.posted) != posted {
				t.Errorf("%d receives, of which %d are accounted for, %d calls, %d RDMA_DONEs to come", len(conn.posted), posted, active, owed)
			}
			conn.mu.Unlock()
		})
	}
}

// TestDonesOfOneXID has two replies of one transaction id pinned: each RDMA_DONE frees one, the older first.
func TestDonesOfOneXID(t *testing.T) {
	r := newRig(t, Config{Dialect: Draft})
	p := r.raw(inline4k)
	p.alive()
	conn := wait(t, r.program.conns)
	p.source(9, 2, 5001)
	second := p.source(9, 3, 5001)
	p.done(9)
	r.freed(2)
	p.alive()
	r.notFreed()
	if got := p.read(second.Reads[0].Segment); !bytes.Equal(got, pattern(0, 5001)) {
		t.Error("the second reply differs")
	}
	p.done(9)
	r.freed(3)
	p.alive()
	r.notFreed()
	memoryBack(t, conn)
	if got := conn.Stats(); got.DonesReceived != 2 || got.DonesIgnored != 0 {
		t.Errorf("counters %+v", got)
	}
}

// TestDoneMissed has a client send no RDMA_DONE for PeerTimeout. The memory is taken back and the connection lives on (draft section 3.8), until the
// client reads what is gone. An RDMA_DONE that comes late does no harm.
func TestDoneMissed(t *testing.T) {
	r := newRig(t, Config{Dialect: Draft, PeerTimeout: 20 * time.Millisecond})
	p := r.raw(inline4k)
	p.alive()
	conn := wait(t, r.program.conns)
	first := p.source(9, 2, 5001)
	p.source(10, 1, 5001)
	r.freed(3)
	waitFor(t, func() bool { return conn.Stats().DonesMissed == 2 })
	memoryBack(t, conn)
	p.alive()
	p.done(9)
	p.alive()
	p.done(10)
	p.alive()
	r.notFreed()
	if got := conn.Stats(); got.DonesMissed != 2 || got.DonesReceived != 0 || got.DonesIgnored != 2 {
		t.Errorf("counters %+v", got)
	}
	conn.mu.Lock()
	if posted, active, owed := conn.granter.State(); len(conn.posted) != posted || active != 0 || owed != 0 || conn.late != 0 {
		t.Errorf("%d receives, of which %d are accounted for, %d calls, %d RDMA_DONEs to come, %d of them late", len(conn.posted), posted, active, owed, conn.late)
	}
	conn.mu.Unlock()

	other := r.raw(inline4k)
	s := first.Reads[0].Segment
	if p.canRead(s) {
		t.Error("memory that was taken back can be read")
	}
	ended(t, conn)
	other.alive()
}

// TestNeverDone has a client never send an RDMA_DONE, though it gets its replies: their memory is taken back each time. In the end its connection ends, and
// no other, as an RDMA_DONE that may still come has a receive of its own.
func TestNeverDone(t *testing.T) {
	r := newRig(t, Config{Dialect: Draft, Credits: 8, PeerTimeout: 20 * time.Millisecond})
	other := r.raw(inline4k)
	other.alive()
	wait(t, r.program.conns)
	p := r.raw(inline4k)
	p.alive()
	conn := wait(t, r.program.conns)
	replies := 0
	for lost := false; !lost; {
		b := append(header(9, TypeMsg).Append(nil), callBytes(9, procSource, &source{1, 5001})...)
		wr := transport.WorkRequest{Op: transport.OpSend, Local: []transport.Slice{{Bytes: b}}, Done: make(completer, 1)}
		if p.ep.Post(&wr) != nil {
			break
		}
		select {
		case <-p.msgs:
			if replies++; replies > 8 {
				t.Fatal("the server answers as if there were RDMA_DONEs")
			}
		case <-p.ep.Done():
			lost = true
		case <-time.After(patience):
			t.Fatalf("nothing happened after %d replies: %+v", replies, conn.Stats())
		}
	}
	ended(t, conn)
	if err := conn.Err(); !errors.Is(err, ErrStalled) {
		t.Errorf("ended with %v, want %v", err, ErrStalled)
	}
	if replies < 8 {
		t.Errorf("the connection ended after %d replies", replies)
	}
	waitFor(t, func() bool { return r.server.Stats().InFlight == 0 })
	memoryBack(t, conn)
	other.alive()
}

// allBack ends the server, and checks that no memory of the provider is missing. All clients must have ended.
func (r *rig) allBack() {
	r.t.Helper()
	r.server.Close()
	err := wait(r.t, r.served)
	r.served <- err
	if n, size := r.fabric.Domain().Allocated(); n != 0 {
		r.t.Errorf("%d pieces of memory leaked, %d bytes", n, size)
	}
}

// TestEndsWhilePinned ends connections, from either side, at each stage of replies that are left to be read. Everything is given back.
func TestEndsWhilePinned(t *testing.T) {
	stages := []struct {
		name string
		do   func(t *testing.T, p *rawPeer, conn *Conn, ep *slowSends)
	}{
		{"not sent", func(_ *testing.T, p *rawPeer, _ *Conn, ep *slowSends) {
			ep.slow.Store(true)
			p.source(9, 2, 5001)
		}},
		{"sent", func(_ *testing.T, p *rawPeer, _ *Conn, _ *slowSends) { p.source(9, 2, 5001) }},
		{"half read", func(_ *testing.T, p *rawPeer, _ *Conn, _ *slowSends) { p.read(p.source(9, 2, 5001).Reads[0].Segment) }},
		{"acknowledged, and the Send not complete", func(t *testing.T, p *rawPeer, conn *Conn, ep *slowSends) {
			ep.slow.Store(true)
			p.source(9, 2, 5001)
			p.done(9)
			waitFor(t, func() bool { return conn.Stats().DonesReceived == 1 })
		}},
		{"withheld", func(t *testing.T, p *rawPeer, conn *Conn, _ *slowSends) {
			for xid := range uint32(2) {
				p.source(xid, 1, 60_000)
			}
			for xid := range uint32(3) {
				p.send(header(xid+10, TypeMsg), callBytes(xid+10, procSource, &source{1, 60_000}))
			}
			waitFor(t, func() bool { s := conn.Stats(); return s.Withheld == 1 && s.Waited == 2 })
		}},
	}
	for _, stage := range stages {
		for _, side := range []string{"client", "server", "shutdown"} {
			t.Run(stage.name+"/"+side, func(t *testing.T) {
				r, made := newSlowRig(t, Config{Dialect: Draft, MaxMessage: 65536, ConnMemory: 131072})
				p := r.raw(inline4k)
				p.alive()
				ep, conn := wait(t, made), wait(t, r.program.conns)
				stage.do(t, p, conn, ep)
				r.notFreed()
				// A provider completes all before it says that the connection has ended.
				ep.slow.Store(false)
				for len(ep.held) > 0 {
					(<-ep.held)()
				}
				switch side {
				case "client":
					p.ep.Close()
				case "server":
					conn.Close()
				case "shutdown":
					r.server.Close()
				}
				ended(t, conn)
				waitFor(t, func() bool { return r.server.Stats().InFlight == 0 })
				n := len(r.program.freed)
				if want := map[bool]int{true: 3, false: 2}[stage.name == "withheld"]; n != want {
					t.Errorf("%d items released, want %d", n, want)
				}
				memoryBack(t, conn)
				r.allBack()
			})
		}
	}
}

// TestShutdownWaitsForDone shuts a server down that has replies to be read: it waits for the RDMA_DONE as for every call under way.
func TestShutdownWaitsForDone(t *testing.T) {
	r := newRig(t, Config{Dialect: Draft})
	p := r.raw(inline4k)
	p.alive()
	h := p.source(9, 2, 5001)
	down := make(chan error, 1)
	go func() { down <- r.server.Shutdown(context.Background()) }()
	waitFor(t, r.server.Closed)
	for i := range h.Reads {
		if got := p.read(h.Reads[i].Segment); !bytes.Equal(got, pattern(uint64(i), 5001)) {
			t.Errorf("item %d differs", i)
		}
	}
	r.notFreed()
	p.done(9)
	if err := wait(t, down); err != nil {
		t.Error(err)
	}
	r.freed(2)
	r.allBack()
}

// TestReplyReadInRFC8166 sends a client of RFC 8166 replies with read lists: none is read, and no RDMA_DONE tells of them (RFC 8166 section 4.3).
func TestReplyReadInRFC8166(t *testing.T) {
	c, p := rawServer(t, Config{}, inline4k)
	for _, typ := range []Type{TypeMsg, TypeNoMsg} {
		s := start(t.Context(), c, &items{}, nil)
		h, _ := p.next()
		r := header(h.XID, typ)
		r.Reads = []chunks.ReadSegment{{Position: 36, Segment: chunks.Segment{Handle: 1, Length: 8}}}
		if typ == TypeNoMsg {
			r.Reads[0].Position = 0
			p.send(r)
		} else {
			p.send(r, result(h.XID, 8))
		}
		if err := wait(t, s.err); !errors.Is(err, ErrReplyRead) {
			t.Errorf("error %v, want %v", err, ErrReplyRead)
		}
		goesOn(t, c, p)
	}
	if got := c.Stats(); got.DonesSent != 0 || got.Malformed != 2 {
		t.Errorf("counters %+v", got)
	}
}
