package rpcrdma

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// sourceReply is a whole reply of procSource.
func sourceReply(xid uint32, count, size int) []byte {
	b := append(replyHeader(xid), be32(uint32(count))...)
	for i := range count {
		b = append(b, be32(0xfeedbeef, uint32(size))...)
		b = append(b, pattern(uint64(i), size)...)
		b = append(b, make([]byte, xdr.Pad(size))...)
	}
	return append(b, be32(7)...)
}

func (p *rawPeer) done(xid uint32) {
	p.t.Helper()
	p.send(header(xid, TypeDone))
}

// canRead reports whether a segment can be read. If not, the connection has ended.
func (p *rawPeer) canRead(s chunks.Segment) bool {
	p.t.Helper()
	wr := transport.WorkRequest{
		Op:     transport.OpRead,
		Flags:  transport.Signaled,
		Remote: transport.Remote{STag: transport.STag(s.Handle), Offset: s.Offset},
		Local:  []transport.Slice{{Bytes: make([]byte, 1)}},
		Done:   make(completer, 1),
	}
	if err := p.ep.Post(&wr); err != nil {
		p.t.Fatal(err)
	}
	return wait(p.t, wr.Done.(completer)) == nil
}

// notFreed checks that the server has released no data of replies so far. What the peer has sent it has taken.
func (r *rig) notFreed() {
	r.t.Helper()
	if n := len(r.program.freed); n > 0 {
		r.t.Errorf("%d items released", n)
	}
}

// freed waits for n items to be released.
func (r *rig) freed(n int) {
	r.t.Helper()
	for range n {
		wait(r.t, r.program.freed)
	}
}

// memoryBack waits until the budget of a server's connection has got everything back.
func memoryBack(t testing.TB, c *Conn) {
	t.Helper()
	b, m := c.budget, &c.memory
	waitFor(t, func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.free >= c.cfg.ServerMemory && m.free >= c.cfg.ConnMemory && m.pinned == 0
	})
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.free != c.cfg.ServerMemory || m.free != c.cfg.ConnMemory || m.pinned != 0 || len(m.withheld) > 0 || m.waiting != 0 {
		t.Errorf("free %d of %d and %d of %d, %d replies pinned, %d withheld, %d calls waiting",
			b.free, c.cfg.ServerMemory, m.free, c.cfg.ConnMemory, m.pinned, len(m.withheld), m.waiting)
	}
}

// TestReplyReads has a server answer a client that offers too little, or nothing (draft sections 3.4, 3.8, 5.1, 5.2). The client reads what it was
// left. The memory of the reply stays until its RDMA_DONE, and no longer.
func TestReplyReads(t *testing.T) {
	const first = 24 + 4 + 8 // position of the first item's data
	tests := []struct {
		name        string
		cfg         Config
		recv        int // inline; 0: 4096
		count, size int
		writes      []int // offered
		reply       int   // offered
		wantType    Type
		wantReads   []string // position+length
		wantWrites  []int
	}{
		{name: "bulk data", count: 1, size: 5001, wantReads: []string{"36+5001"}},
		{name: "one byte too much for inline", count: 1, size: 4096 - 28 - 24 - 16 + 1, wantReads: []string{"36+4029"}},
		{name: "several", count: 3, size: 2002, wantReads: []string{"36+2002", "2048+2002", "4060+2002"}},
		{name: "segments", cfg: Config{SegmentSize: 2000}, count: 1, size: 5001, wantReads: []string{"36+2000", "36+2000", "36+1001"}},
		{name: "a long reply", count: 10, size: 500, wantType: TypeNoMsg, wantReads: []string{"0+5112"}},
		{name: "a long reply in segments", cfg: Config{SegmentSize: 4000}, count: 10, size: 500, wantType: TypeNoMsg, wantReads: []string{"0+4000", "0+1112"}},
		{name: "a long reply with bulk data beside it", recv: 1024, count: 31, size: 1024, wantType: TypeNoMsg, wantReads: func() []string {
			all := []string{fmt.Sprint("0+", 24+4+31*8+4)}
			for i := range 31 {
				all = append(all, fmt.Sprintf("%d+1024", first+i*1032))
			}
			return all
		}()},
		{name: "more items than the header holds", recv: 1024, count: 45, size: 1024, wantType: TypeNoMsg, wantReads: []string{fmt.Sprint("0+", 24+4+45*1032+4)}},
		{name: "small chunks", cfg: Config{MinChunk: 100}, count: 10, size: 500, wantReads: func() (all []string) {
			for i := range 10 {
				all = append(all, fmt.Sprintf("%d+500", first+i*508))
			}
			return all
		}()},
		{name: "beside a write chunk", count: 2, size: 5001, writes: []int{6000}, wantReads: []string{"5048+5001"}, wantWrites: []int{5004}},
		{name: "beside write chunks, one too small", count: 3, size: 5001, writes: []int{6000, 5000, 5001}, wantReads: []string{"5048+5001"}, wantWrites: []int{5004, 0, 5004}},
		{name: "beside write chunks, the last unused", count: 1, size: 5001, writes: []int{5000, 100_000}, wantReads: []string{"36+5001"}, wantWrites: []int{0, 0}},
		{name: "write chunk too small", count: 1, size: 5001, writes: []int{5000}, wantReads: []string{"36+5001"}, wantWrites: []int{0}},
		{name: "reply chunk too small", count: 10, size: 500, reply: 5111, wantType: TypeNoMsg, wantReads: []string{"0+5112"}},
		{name: "reply chunk too small, and bulk data", count: 2, size: 5001, reply: 5000, wantReads: []string{"36+5001", "5048+5001"}},
		{
			name: "reply chunk too small beside a write chunk", count: 11, size: 500, writes: []int{500}, reply: 100,
			wantType: TypeNoMsg, wantReads: []string{fmt.Sprint("0+", 24+4+8+10*508+4)}, wantWrites: []int{500},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := tt.cfg
			cfg.Dialect = Draft
			r := newRig(t, cfg)
			p := r.raw(private{Send: 4096, Recv: cmp.Or(tt.recv, 4096)})
			p.alive()
			conn := wait(t, r.program.conns)
			const xid = 77
			h := header(xid, TypeMsg)
			var mem [][]byte
			for _, n := range tt.writes {
				mem = append(mem, make([]byte, n))
				h.AddWrite([]chunks.Segment{p.expose(mem[len(mem)-1], transport.RemoteWrite)})
			}
			if tt.reply > 0 {
				h.SetReply([]chunks.Segment{p.expose(make([]byte, tt.reply), transport.RemoteWrite)})
			}
			p.send(h, callBytes(xid, procSource, &source{uint32(tt.count), uint32(tt.size)}))
			got, body := p.next()
			if got.Type != tt.wantType || got.XID != xid || got.Version != 1 || got.Credits == 0 {
				t.Fatalf("reply %+v", got)
			}
			var reads []string
			for _, s := range got.Reads {
				reads = append(reads, fmt.Sprintf("%d+%d", s.Position, s.Length))
			}
			if !slices.Equal(reads, tt.wantReads) {
				t.Errorf("read list %v, want %v", reads, tt.wantReads)
			}
			var writes []int
			for _, w := range got.Writes {
				writes = append(writes, int(w.Len()))
			}
			if !slices.Equal(writes, tt.wantWrites) {
				t.Errorf("write list %v, want %v", writes, tt.wantWrites)
			}
			if got.HasReply != (tt.reply > 0) || got.Reply.Len() != 0 {
				t.Errorf("reply chunk %v, want none or one of length 0", got.Reply)
			}
			check := func() {
				t.Helper()
				// What went by write chunk is missing in the stream.
				want := sourceReply(xid, tt.count, tt.size)
				for i := len(tt.wantWrites) - 1; i >= 0; i-- {
					if tt.wantWrites[i] == 0 {
						continue
					}
					if !bytes.Equal(mem[i][:tt.size], pattern(uint64(i), tt.size)) {
						t.Errorf("write chunk %d differs", i)
					}
					// Its place counts in the positions behind it.
					copy(want[first+i*(xdr.RoundUp(tt.size)+8):], make([]byte, xdr.RoundUp(tt.size)))
				}
				stream := p.holed(got, body, tt.wantWrites, tt.size)
				if !bytes.Equal(stream, want) {
					t.Errorf("stream of %d bytes differs, want %d", len(stream), len(want))
				}
			}
			check()
			p.alive()
			r.notFreed()
			check() // it may be read as often as wanted
			p.done(xid)
			r.freed(tt.count)
			p.alive()
			r.notFreed()
			memoryBack(t, conn)
			if got := conn.Stats(); got.DonesReceived != 1 || got.DonesIgnored != 0 || got.Withheld != 0 {
				t.Errorf("counters %+v", got)
			}
			// Nobody has a window into it any more.
			s := got.Reads[0].Segment
			if p.canRead(s) {
				t.Error("the reply can be read after the RDMA_DONE")
			}
			ended(t, conn)
			r.notFreed()
		})
	}
}

// holed returns the whole stream of a reply: its message, and what of it is in read chunks. Items of size bytes that went by write chunk are zeros.
func (p *rawPeer) holed(h *Header, body []byte, writes []int, size int) []byte {
	p.t.Helper()
	at := map[int][]byte{}
	for _, s := range h.Reads {
		at[int(s.Position)] = append(at[int(s.Position)], p.read(s.Segment)...)
	}
	if h.Type == TypeNoMsg {
		body = at[0]
		delete(at, 0)
	}
	for i, n := range writes {
		if n > 0 {
			at[24+4+8+i*(xdr.RoundUp(size)+8)] = make([]byte, size)
		}
	}
	var order []int
	for pos := range at {
		order = append(order, pos)
	}
	slices.Sort(order)
	stream := bytes.Clone(body)
	for _, pos := range order {
		if pos > len(stream) {
			p.t.Fatalf("read chunk at %d of a stream of %d", pos, len(stream))
		}
		stream = slices.Insert(stream, pos, append(at[pos], make([]byte, xdr.Pad(len(at[pos])))...)...)
	}
	return stream
}

// TestReplyNotRead checks where a reply goes that needs no read chunks, or must not have any.
func TestReplyNotRead(t *testing.T) {
	tests := []struct {
		name        string
		dialect     Dialect
		lcfg        loopback.Config // the server's
		count, size int
		reply       int
		want        Type
		wantReply   int
	}{
		{"inline", Draft, loopback.Config{}, 1, 4000, 0, TypeMsg, 0},
		{"reply chunk", Draft, loopback.Config{}, 1, 5000, 5040, TypeNoMsg, 5040},
		{"longer than MaxMessage", Draft, loopback.Config{}, 2, 40_000, 0, TypeError, 0},
		{"as long as MaxMessage", Draft, loopback.Config{}, 1, 65536 - 40, 0, TypeMsg, 0},
		{"the server serves no Reads", Draft, loopback.Config{IRD: -1}, 1, 5000, 0, TypeError, 0},
		{"RFC 8166", RFC8166, loopback.Config{}, 1, 5000, 0, TypeError, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRigOn(t, Config{Dialect: tt.dialect, MaxMessage: 65536}, tt.lcfg, func(l transport.Listener) transport.Listener { return l })
			p := r.raw(inline4k)
			p.alive()
			conn := wait(t, r.program.conns)
			h := header(5, TypeMsg)
			if tt.reply > 0 {
				h.SetReply([]chunks.Segment{p.expose(make([]byte, tt.reply), transport.RemoteWrite)})
			}
			p.send(h, callBytes(5, procSource, &source{uint32(tt.count), uint32(tt.size)}))
			got, _ := p.next()
			if got.Type != tt.want || int(got.Reply.Len()) != tt.wantReply {
				t.Errorf("reply %v, reply chunk of %d, want %v and %d", got.Type, got.Reply.Len(), tt.want, tt.wantReply)
			}
			if reads := tt.name == "as long as MaxMessage"; reads != (len(got.Reads) > 0) {
				t.Errorf("read list %v", got.Reads)
			} else if reads {
				p.done(5)
			}
			tooLong := uint64(0)
			if tt.want == TypeError {
				tooLong = 1
				if got.Err != ErrChunk {
					t.Errorf("error %v", got.Err)
				}
			}
			r.freed(tt.count)
			p.alive()
			memoryBack(t, conn)
			if got := conn.Stats().TooLong; got != tooLong {
				t.Errorf("TooLong %d, want %d", got, tooLong)
			}
		})
	}
}

// TestReplyReadsBothEnds has a real client read what a real server leaves it, over providers of all abilities and of the fewest.
func TestReplyReadsBothEnds(t *testing.T) {
	for _, abilities := range []string{"all", "minimum"} {
		t.Run(abilities, func(t *testing.T) {
			cfg := Config{Dialect: Draft, SegmentSize: 30_000, Logger: quiet}
			ccfg := cfg
			ccfg.NoReplyChunks = true
			var r *rig
			var c *Conn
			if abilities == "all" {
				r = newRig(t, cfg)
				c = r.dial(ccfg)
			} else {
				r = newRigOn(t, cfg, loopback.Config{}, func(l transport.Listener) transport.Listener { return plainListener{l} })
				var err error
				if c, err = Dial(t.Context(), plainDialer{r.fabric.Dialer(loopback.Config{}), false}, rigAddr, ccfg); err != nil {
					t.Fatal(err)
				}
				defer c.Close()
			}
			want := uint64(0)
			for _, size := range []int{0, 1, 3, 500, 1023, 1024, 4028, 4029, 5000, 5001, 5002, 5003, 100_003} {
				for _, count := range []int{1, 2, 3, 12} {
					var got items
					req := oncrpc.Request{Procedure: procSource, Args: &source{uint32(count), uint32(size)}, Reply: &got, MaxReply: 100}
					if err := client(c).Do(t.Context(), &req); err != nil {
						t.Fatalf("%d items of %d bytes: %v", count, size, err)
					}
					for i := range count {
						if !bytes.Equal(got.data[i], pattern(uint64(i), size)) {
							t.Errorf("%d items of %d bytes: item %d differs", count, size, i)
						}
					}
					if 28+len(sourceReply(0, count, size)) > 4096 {
						want++
					}
					if n := c.Stats().DonesSent; n != want {
						t.Fatalf("%d items of %d bytes: %d RDMA_DONEs sent, want %d", count, size, n, want)
					}
				}
			}
			if err := client(c).Call(t.Context(), procNull, nil, nil); err != nil {
				t.Fatal(err)
			}
			conn := wait(t, r.program.conns)
			if got := conn.Stats(); got.DonesReceived != want || got.DonesIgnored != 0 {
				t.Errorf("server: %d RDMA_DONEs, %d ignored, want %d and none", got.DonesReceived, got.DonesIgnored, want)
			}
			memoryBack(t, conn)
		})
	}
}

// TestResultsByReadChunk names memory for results that the server cannot reach, as the chunks are too small for all of them: what does not land
// there by itself is moved.
func TestResultsByReadChunk(t *testing.T) {
	r := newRig(t, Config{Dialect: Draft})
	c := r.dial(Config{Dialect: Draft})
	small, large := make([]byte, 4999), make([]byte, 5001)
	var got items
	err := client(c).Do(t.Context(), &oncrpc.Request{Procedure: procSource, Args: &source{2, 5000}, Reply: &got, Results: [][]byte{small, large}, MaxReply: 32})
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range got.data {
		if !bytes.Equal(p, pattern(uint64(i), 5000)) {
			t.Errorf("item %d differs", i)
		}
	}
	if !bytes.Equal(large[:5000], pattern(1, 5000)) {
		t.Error("what fits did not land where it was to")
	}
	if got := c.Stats(); got.DonesSent != 1 {
		t.Errorf("%d RDMA_DONEs", got.DonesSent)
	}
}

// readSegments exposes the parts of a message as read segments of one position.
func (p *rawPeer) readSegments(position uint32, parts ...[]byte) (all []chunks.ReadSegment) {
	p.t.Helper()
	for _, b := range parts {
		all = append(all, chunks.ReadSegment{Position: position, Segment: p.expose(b, transport.RemoteRead)})
	}
	return all
}

// echoReply is a whole reply with items.
func echoReply(xid uint32, data ...[]byte) []byte {
	m := callMessage(xid, procEcho, &items{data: data, tail: 7})
	return append(replyHeader(xid), m.AppendTo(nil)[40:]...)
}

// nextDone checks that the next message is the RDMA_DONE for a reply, to the byte.
func (p *rawPeer) nextDone(xid, credits uint32) {
	p.t.Helper()
	want := be32(xid, 1, credits, 3)
	if m := wait(p.t, p.msgs); !bytes.Equal(m.b, want) {
		p.t.Errorf("message % x, want RDMA_DONE % x", m.b, want)
	}
}

// TestClientReads has a raw server leave replies to a real client to read, in every form that is allowed, those included that this project's server does not
// use.
func TestClientReads(t *testing.T) {
	const size = 5001
	data := pattern(1, size)
	tests := []struct {
		name   string
		land   bool // memory is named for the result
		answer func(p *rawPeer, h *Header)
	}{
		{"bulk data", false, func(p *rawPeer, h *Header) {
			r := header(h.XID, TypeMsg)
			r.Reads = p.readSegments(36, data)
			p.send(r, result(h.XID, size))
		}},
		{"bulk data with its round-up", false, func(p *rawPeer, h *Header) {
			r := header(h.XID, TypeMsg)
			r.Reads = p.readSegments(36, append(bytes.Clone(data), 1, 2, 3))
			p.send(r, result(h.XID, size))
		}},
		{"segments, empty ones among them", false, func(p *rawPeer, h *Header) {
			r := header(h.XID, TypeMsg)
			r.Reads = p.readSegments(36, data[:1], data[1:4000], data[4000:])
			empty := r.Reads[0]
			empty.Length = 0
			r.Reads = slices.Insert(r.Reads, 1, empty)
			p.send(r, result(h.XID, size))
		}},
		{"all at position zero", false, func(p *rawPeer, h *Header) {
			r := header(h.XID, TypeNoMsg)
			m := echoReply(h.XID, data)
			r.Reads = p.readSegments(0, m[:30], m[30:])
			p.send(r)
		}},
		{"position zero behind another", false, func(p *rawPeer, h *Header) {
			r := header(h.XID, TypeNoMsg)
			r.Reads = append(p.readSegments(36, data), p.readSegments(0, result(h.XID, size))...)
			p.send(r)
		}},
		{"position zero, and the data in a write chunk", true, func(p *rawPeer, h *Header) {
			p.writeChunk(h.Writes[0], data)
			r := header(h.XID, TypeNoMsg)
			segs, _ := chunks.Fill(nil, h.Writes[0], size)
			chunks.RoundUp(segs, h.Writes[0], size)
			r.AddWrite(segs)
			r.Reads = p.readSegments(0, result(h.XID, size))
			p.send(r)
		}},
		{"write chunk offered and not used", true, func(p *rawPeer, h *Header) {
			r := header(h.XID, TypeMsg)
			segs, _ := chunks.Fill(nil, h.Writes[0], 0)
			r.AddWrite(segs)
			r.Reads = p.readSegments(36, data)
			p.send(r, result(h.XID, size))
		}},
		{"beside the rest in the reply chunk", false, func(p *rawPeer, h *Header) { // draft section 5.2: "even with read chunks removed"
			m := result(h.XID, size)
			p.writeChunk(h.Reply, m)
			r := header(h.XID, TypeNoMsg)
			segs, _ := chunks.Fill(nil, h.Reply, len(m))
			r.SetReply(segs)
			r.Reads = p.readSegments(36, data)
			p.send(r)
		}},
		{"reply chunk offered and not used", false, func(p *rawPeer, h *Header) {
			r := header(h.XID, TypeNoMsg)
			segs, _ := chunks.Fill(nil, h.Reply, 0)
			r.SetReply(segs)
			r.Reads = p.readSegments(0, echoReply(h.XID, data))
			p.send(r)
		}},
	}
	for _, tt := range tests {
		for _, serves := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/serves %v", tt.name, serves), func(t *testing.T) {
				info := &lastInfo{}
				c, p := rawServer(t, Config{Dialect: Draft, Observer: info}, inline4k)
				if serves {
					back := oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet})
					back.Handle(newProgram().program())
					defer back.Close()
					c.Serve(back)
				}
				var mem []byte
				if tt.land {
					mem = make([]byte, size)
				}
				s := start(t.Context(), c, &items{data: [][]byte{data}}, mem)
				h, _ := p.next()
				p.read(h.Reads[0].Segment)
				tt.answer(p, h)
				if err := wait(t, s.err); err != nil {
					t.Fatal(err)
				}
				if len(s.reply.data) != 1 || !bytes.Equal(s.reply.data[0], data) {
					t.Error("result differs")
				}
				if tt.land && &s.reply.data[0][0] != &mem[0] {
					t.Error("result is not in the memory named for it")
				}
				p.nextDone(h.XID, 64)
				if n := info.ReplyRead; n == 0 {
					t.Error("CallInfo.ReplyRead is 0")
				}
				goesOn(t, c, p)
			})
		}
	}
}

// lastInfo is an Observer of the last call.
type lastInfo struct{ CallInfo }

func (l *lastInfo) CallDone(info *CallInfo) { l.CallInfo = *info }

// bytesRead is an Observer that sums up.
type bytesRead struct{ atomic.Int64 }

func (n *bytesRead) CallDone(info *CallInfo) { n.Add(int64(info.ReplyRead + info.InlineReceived)) }

// goesOn makes a call: the next thing that the server sees is that, and its reply takes all credits back.
func goesOn(t *testing.T, c *Conn, p *rawPeer) {
	t.Helper()
	s := start(t.Context(), c, &items{}, nil)
	h, body := p.next()
	if h.Type != TypeMsg || len(body) < 8 {
		t.Fatalf("the server got %v, want the next call", h.Type)
	}
	p.send(header(h.XID, TypeMsg), replyHeader(h.XID), be32(0, 7))
	if err := wait(t, s.err); err != nil {
		t.Errorf("next call: %v", err)
	}
	if _, used, _ := c.Credits(); used != 0 {
		t.Errorf("%d credits in use", used)
	}
}

// TestDoneAfterReads checks that the RDMA_DONE leaves when the last RDMA Read is complete and not before, and that the call lasts as long.
func TestDoneAfterReads(t *testing.T) {
	holder := newReadHolder()
	c, p := rawServerOn(t, Config{Dialect: Draft}, inline4k, holder.wrap)
	held := wait(t, holder.made)
	goesOn(t, c, p) // which opens the window
	data := pattern(1, 9000)
	s := start(t.Context(), c, &items{data: [][]byte{{1}}}, nil)
	h, _ := p.next()
	r := header(h.XID, TypeMsg)
	r.Reads = p.readSegments(36, data[:3000], data[3000:6000], data[6000:])
	p.send(r, result(h.XID, len(data)))
	for left := 3; left > 0; left-- {
		goesBeside(t, c, p)
		if len(s.err) > 0 {
			t.Errorf("the call ended with %d Reads to go", left)
		}
		held.release(t, 1)
	}
	p.nextDone(h.XID, 64)
	if err := wait(t, s.err); err != nil || !bytes.Equal(s.reply.data[0], data) {
		t.Errorf("error %v, or the result differs", err)
	}
	goesOn(t, c, p)
	if got := c.Stats(); got.DonesSent != 1 || got.UnknownXID != 0 {
		t.Errorf("counters %+v", got)
	}
}

// goesBeside makes a call while others are under way.
func goesBeside(t *testing.T, c *Conn, p *rawPeer) {
	t.Helper()
	s := start(t.Context(), c, &items{}, nil)
	h, _ := p.next()
	if h.Type != TypeMsg {
		t.Fatalf("the server got %v, want a call", h.Type)
	}
	p.send(header(h.XID, TypeMsg), replyHeader(h.XID), be32(0, 7))
	if err := wait(t, s.err); err != nil {
		t.Errorf("a call beside: %v", err)
	}
}

// TestGrantsWhileReading has a reply lower the grant while an earlier one is still read: the earlier grant does not come back with it, nor is the later one lost.
func TestGrantsWhileReading(t *testing.T) {
	for _, serves := range []bool{false, true} {
		for _, second := range []Type{TypeMsg, TypeNoMsg} {
			t.Run(fmt.Sprintf("serves %v, then %v", serves, second), func(t *testing.T) {
				holder := newReadHolder()
				c, p := rawServerOn(t, Config{Dialect: Draft}, inline4k, holder.wrap)
				held := wait(t, holder.made)
				if serves { // then a message at position zero might be a call
					back := oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet})
					back.Handle(newProgram().program())
					defer back.Close()
					c.Serve(back)
				}
				goesOn(t, c, p)
				calls := []*started{start(t.Context(), c, &items{}, nil)}
				h, _ := p.next()
				calls = append(calls, start(t.Context(), c, &items{}, nil))
				h2, _ := p.next()
				answer := func(xid, credits uint32, typ Type) {
					r := header(xid, typ)
					r.Credits = credits
					m := append(replyHeader(xid), be32(0, 7)...)
					if typ == TypeNoMsg {
						r.Reads = p.readSegments(0, m)
						p.send(r)
					} else {
						p.send(r, m)
					}
				}
				answer(h.XID, 30, TypeNoMsg)
				answer(h2.XID, 2, second)
				if second == TypeMsg {
					if err := wait(t, calls[1].err); err != nil {
						t.Error(err)
					}
					calls = calls[:1]
				}
				held.release(t, len(calls))
				for _, s := range calls {
					if err := wait(t, s.err); err != nil {
						t.Error(err)
					}
				}
				if grant, _, _ := c.Credits(); grant != 2 {
					t.Errorf("the grant in force is %d, want 2", grant)
				}
			})
		}
	}
}

// TestDoneTakesCredit checks that an RDMA_DONE counts as a request until the reply to a later call shows that it was taken (draft section 3.8).
func TestDoneTakesCredit(t *testing.T) {
	c, p := rawServer(t, Config{Dialect: Draft}, inline4k)
	answer := func(h *Header, reads bool) {
		r := header(h.XID, TypeMsg)
		r.Credits = 2
		if reads {
			r.Reads = p.readSegments(36, make([]byte, 100))
			p.send(r, result(h.XID, 100))
		} else {
			p.send(r, replyHeader(h.XID), be32(0, 7))
		}
	}
	first := start(t.Context(), c, &items{}, nil)
	h, _ := p.next()
	answer(h, true)
	if err := wait(t, first.err); err != nil {
		t.Fatal(err)
	}
	p.nextDone(h.XID, 64)
	if grant, used, _ := c.Credits(); grant != 2 || used != 1 {
		t.Errorf("%d credits in use of %d, want 1 of 2", used, grant)
	}
	var calls []*started
	for range 3 {
		calls = append(calls, start(t.Context(), c, &items{}, nil))
	}
	waitFor(t, func() bool { _, used, waiting := c.Credits(); return used == 2 && waiting == 2 })
	h, _ = p.next()
	if len(p.msgs) > 0 {
		t.Error("two calls beside an RDMA_DONE, and 2 credits")
	}
	answer(h, false)
	var last []*Header
	for range 2 {
		h, _ = p.next()
		last = append(last, h)
	}
	if _, used, _ := c.Credits(); used != 2 {
		t.Errorf("%d credits in use, want 2", used)
	}
	for _, h := range last {
		answer(h, false)
	}
	for _, s := range calls {
		if err := wait(t, s.err); err != nil {
			t.Error(err)
		}
	}
}

// TestCancelBeforeReads gives a call up before its reply with a read list comes: nothing is read, and the server still learns that it
// may free it.
func TestCancelBeforeReads(t *testing.T) {
	const size = 5001
	c, p := rawServer(t, Config{Dialect: Draft}, inline4k)
	ctx, cancel := context.WithCancel(t.Context())
	land := make([]byte, size)
	s := start(ctx, c, &items{data: [][]byte{{1}}}, land)
	h, _ := p.next()
	cancel()
	if err := wait(t, s.err); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	scribble(land)
	r := header(h.XID, TypeMsg)
	segs, _ := chunks.Fill(nil, h.Writes[0], 0)
	r.AddWrite(segs)
	r.Reads = []chunks.ReadSegment{{Position: 36, Segment: chunks.Segment{Handle: 1, Length: size}}} // to read it would end the connection
	p.send(r, result(h.XID, size))
	p.nextDone(h.XID, 64)
	goesOn(t, c, p)
	untouched(t, land)
	if got := c.Stats(); got.Cancelled != 1 || got.LateReplies != 1 || got.DonesSent != 1 {
		t.Errorf("counters %+v", got)
	}
}

// TestCancelWhileReading gives a call up while the chunks of its reply are read, at each stage of that. The Reads go on, the RDMA_DONE follows them, and what
// was named to the call is not touched.
func TestCancelWhileReading(t *testing.T) {
	const size, parts = 9000, 3
	for _, long := range []bool{false, true} {
		for stage := range parts + 1 {
			t.Run(fmt.Sprintf("long %v, %d Reads complete", long, stage), func(t *testing.T) {
				holder := newReadHolder()
				observer := &lastInfo{}
				c, p := rawServerOn(t, Config{Dialect: Draft, Observer: observer}, inline4k, holder.wrap)
				held := wait(t, holder.made)
				if long {
					back := oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet})
					back.Handle(newProgram().program())
					defer back.Close()
					c.Serve(back)
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				data, land := pattern(1, size), make([]byte, size)
				s := start(ctx, c, &items{data: [][]byte{{1}}}, land)
				h, _ := p.next()
				r := header(h.XID, TypeMsg)
				segs, _ := chunks.Fill(nil, h.Writes[0], 0)
				r.AddWrite(segs)
				if long {
					r.Type = TypeNoMsg
					m := echoReply(h.XID, data)
					r.Reads = p.readSegments(0, m[:100], m[100:5000], m[5000:])
					p.send(r)
				} else {
					r.Reads = p.readSegments(36, data[:3000], data[3000:6000], data[6000:])
					p.send(r, result(h.XID, size))
				}
				held.release(t, stage)
				if stage == parts {
					p.nextDone(h.XID, 64)
				}
				cancel()
				err := wait(t, s.err)
				switch {
				case stage == parts && err == nil: // it was here
				case !errors.Is(err, context.Canceled):
					t.Fatal(err)
				}
				scribble(land)
				if stage < parts {
					if len(p.msgs) > 0 {
						t.Error("the server got something before the Reads were complete")
					}
					held.release(t, parts-stage)
					p.nextDone(h.XID, 64)
				}
				goesOn(t, c, p)
				untouched(t, land)
				if got := c.Stats(); got.DonesSent != 1 || got.Malformed != 0 {
					t.Errorf("counters %+v", got)
				}
			})
		}
	}
}

// TestCancelStormReads cancels calls at random moments while a real server leaves its replies to be read.
func TestCancelStormReads(t *testing.T) {
	r := newRig(t, Config{Dialect: Draft, Credits: 8})
	c := r.dial(Config{Dialect: Draft, Credits: 8, NoReplyChunks: true, Observer: new(bytesRead)})
	const workers, rounds, size = 6, 60, 30_000
	errs := make(chan error, workers)
	for w := range workers {
		go func() {
			errs <- func() error {
				land := make([]byte, size)
				for i := range rounds {
					ctx, cancel := context.WithCancel(t.Context())
					if w%2 == 0 {
						go func() {
							for range i * 40 { // a moment, as long as it may be
								if ctx.Err() != nil {
									return
								}
							}
							cancel()
						}()
					}
					reply := items{data: [][]byte{land, land}, land: true}
					err := client(c).Do(ctx, &oncrpc.Request{Procedure: procSource, Args: &source{2, size}, Reply: &reply, Results: reply.data, MaxReply: 64})
					cancel()
					switch {
					case err == nil:
						if !bytes.Equal(land, pattern(1, size)) {
							return fmt.Errorf("worker %d round %d: result differs", w, i)
						}
					case w%2 == 0 && errors.Is(err, context.Canceled):
					default:
						return fmt.Errorf("worker %d round %d: %w", w, i, err)
					}
					scribble(land)
				}
				return nil
			}()
		}()
	}
	for range workers {
		if err := wait(t, errs); err != nil {
			t.Error(err)
		}
	}
	// Every reply with a read list has brought its RDMA_DONE.
	waitFor(t, func() bool {
		if err := client(c).Call(t.Context(), procNull, nil, nil); err != nil {
			t.Fatal(err)
		}
		_, used, _ := c.Credits()
		return used == 0
	})
	conn := wait(t, r.program.conns)
	waitFor(t, func() bool { return r.server.Stats().InFlight == 0 })
	memoryBack(t, conn)
	cs, ss := c.Stats(), conn.Stats()
	if cs.DonesSent == 0 || cs.DonesSent != ss.DonesReceived || ss.DonesIgnored != 0 {
		t.Errorf("client sent %d RDMA_DONEs, the server took %d and ignored %d", cs.DonesSent, ss.DonesReceived, ss.DonesIgnored)
	}
}
