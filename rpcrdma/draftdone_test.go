package rpcrdma_test

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
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
		b = append(b, make([]byte, xdr.PadLen(size))...)
	}
	return append(b, be32(7)...)
}

func (p *rawPeer) done(xid uint32) {
	p.t.Helper()
	p.send(header(xid, rpcrdma.TypeDone))
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

// notFreed checks that the server has released no data of replies so far, although it has taken all
// that the peer sent.
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

// TestReplyReads: a client offers too few chunks, or none, and reads the rest of the reply (draft
// sections 3.4, 3.8, 5.1 and 5.2). The memory of the reply stays until its RDMA_DONE, and no
// longer.
func TestReplyReads(t *testing.T) {
	const first = 24 + 4 + 8 // position of the first item's data
	tests := []struct {
		name        string
		cfg         rpcrdma.Config
		recv        int // inline; 0: 4096
		count, size int
		writes      []int // offered
		reply       int   // offered
		wantType    rpcrdma.Type
		wantReads   []string // position+length
		wantWrites  []int
	}{
		{name: "bulk data", count: 1, size: 5001, wantReads: []string{"36+5001"}},
		{name: "one byte too much for inline", count: 1, size: 4096 - 28 - 24 - 16 + 1, wantReads: []string{"36+4029"}},
		{name: "several", count: 3, size: 2002, wantReads: []string{"36+2002", "2048+2002", "4060+2002"}},
		{name: "segments", cfg: rpcrdma.Config{SegmentSize: 2000}, count: 1, size: 5001, wantReads: []string{"36+2000", "36+2000", "36+1001"}},
		{name: "a long reply", count: 10, size: 500, wantType: rpcrdma.TypeNoMsg, wantReads: []string{"0+5112"}},
		{name: "a long reply in segments", cfg: rpcrdma.Config{SegmentSize: 4000}, count: 10, size: 500, wantType: rpcrdma.TypeNoMsg, wantReads: []string{"0+4000", "0+1112"}},
		{name: "a long reply with bulk data beside it", recv: 1024, count: 31, size: 1024, wantType: rpcrdma.TypeNoMsg, wantReads: func() []string {
			all := []string{fmt.Sprint("0+", 24+4+31*8+4)}
			for i := range 31 {
				all = append(all, fmt.Sprintf("%d+1024", first+i*1032))
			}
			return all
		}()},
		{name: "more items than the header holds", recv: 1024, count: 45, size: 1024, wantType: rpcrdma.TypeNoMsg, wantReads: []string{fmt.Sprint("0+", 24+4+45*1032+4)}},
		{name: "small chunks", cfg: rpcrdma.Config{MinChunk: 100}, count: 10, size: 500, wantReads: func() (all []string) {
			for i := range 10 {
				all = append(all, fmt.Sprintf("%d+500", first+i*508))
			}
			return all
		}()},
		{name: "beside a write chunk", count: 2, size: 5001, writes: []int{6000}, wantReads: []string{"5048+5001"}, wantWrites: []int{5004}},
		{name: "beside write chunks, one too small", count: 3, size: 5001, writes: []int{6000, 5000, 5001}, wantReads: []string{"5048+5001"}, wantWrites: []int{5004, 0, 5004}},
		{name: "beside write chunks, the last unused", count: 1, size: 5001, writes: []int{5000, 100_000}, wantReads: []string{"36+5001"}, wantWrites: []int{0, 0}},
		{name: "write chunk too small", count: 1, size: 5001, writes: []int{5000}, wantReads: []string{"36+5001"}, wantWrites: []int{0}},
		{name: "reply chunk too small", count: 10, size: 500, reply: 5111, wantType: rpcrdma.TypeNoMsg, wantReads: []string{"0+5112"}},
		{name: "reply chunk too small, and bulk data", count: 2, size: 5001, reply: 5000, wantReads: []string{"36+5001", "5048+5001"}},
		{
			name: "reply chunk too small beside a write chunk", count: 11, size: 500, writes: []int{500}, reply: 100,
			wantType: rpcrdma.TypeNoMsg, wantReads: []string{fmt.Sprint("0+", 24+4+8+10*508+4)}, wantWrites: []int{500},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := tt.cfg
			cfg.Dialect = rpcrdma.Draft
			r := newRig(t, cfg)
			p := r.raw(privateData{Send: 4096, Recv: cmp.Or(tt.recv, 4096)})
			p.alive()
			conn := wait(t, r.program.conns)
			const xid = 77
			h := header(xid, rpcrdma.TypeMsg)
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
				// Data that went by write chunk is missing from the stream.
				want := sourceReply(xid, tt.count, tt.size)
				for i := len(tt.wantWrites) - 1; i >= 0; i-- {
					if tt.wantWrites[i] == 0 {
						continue
					}
					if !bytes.Equal(mem[i][:tt.size], pattern(uint64(i), tt.size)) {
						t.Errorf("write chunk %d differs", i)
					}
					// Positions after it count its place.
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
			check() // it may be read any number of times
			p.done(xid)
			r.freed(tt.count)
			p.alive()
			r.notFreed()
			if got := conn.Stats(); got.DonesReceived != 1 || got.DonesIgnored != 0 || got.Withheld != 0 {
				t.Errorf("counters %+v", got)
			}
			r.memoryBack(p)
			// The window no longer exists.
			s := got.Reads[0].Segment
			if p.canRead(s) {
				t.Error("the reply can be read after the RDMA_DONE")
			}
			ended(t, conn)
			r.notFreed()
		})
	}
}

// holed returns the whole stream of a reply: its message, and what of it is in read chunks. Items
// of size bytes that went by write chunk are zeros.
func (p *rawPeer) holed(h *rpcrdma.Header, body []byte, writes []int, size int) []byte {
	p.t.Helper()
	at := map[int][]byte{}
	for _, s := range h.Reads {
		at[int(s.Position)] = append(at[int(s.Position)], p.read(s.Segment)...)
	}
	if h.Type == rpcrdma.TypeNoMsg {
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
		stream = slices.Insert(stream, pos, append(at[pos], make([]byte, xdr.PadLen(len(at[pos])))...)...)
	}
	return stream
}

// TestReplyNotRead checks how a reply travels that needs no read chunks, or must not have any.
func TestReplyNotRead(t *testing.T) {
	tests := []struct {
		name        string
		dialect     rpcrdma.Dialect
		lcfg        loopback.Config // the server's
		count, size int
		reply       int
		want        rpcrdma.Type
		wantReply   int
	}{
		{"inline", rpcrdma.Draft, loopback.Config{}, 1, 4000, 0, rpcrdma.TypeMsg, 0},
		{"reply chunk", rpcrdma.Draft, loopback.Config{}, 1, 5000, 5040, rpcrdma.TypeNoMsg, 5040},
		{"longer than MaxMessage", rpcrdma.Draft, loopback.Config{}, 2, 40_000, 0, rpcrdma.TypeError, 0},
		{"as long as MaxMessage", rpcrdma.Draft, loopback.Config{}, 1, 65536 - 40, 0, rpcrdma.TypeMsg, 0},
		{"the server serves no Reads", rpcrdma.Draft, loopback.Config{IRD: -1}, 1, 5000, 0, rpcrdma.TypeError, 0},
		{"RFC 8166", rpcrdma.RFC8166, loopback.Config{}, 1, 5000, 0, rpcrdma.TypeError, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRigOn(t, rpcrdma.Config{Dialect: tt.dialect, MaxMessage: 65536, ConnMemory: 131072, ServerMemory: 262144}, tt.lcfg, sameEndpoint)
			p := r.raw(inline4k)
			p.alive()
			conn := wait(t, r.program.conns)
			h := header(5, rpcrdma.TypeMsg)
			if tt.reply > 0 {
				h.SetReply([]chunks.Segment{p.expose(make([]byte, tt.reply), transport.RemoteWrite)})
			}
			p.send(h, callBytes(5, procSource, &source{uint32(tt.count), uint32(tt.size)}))
			got, _ := p.next()
			if got.Type != tt.want || int(got.Reply.Len()) != tt.wantReply {
				t.Errorf("reply %v, reply chunk of %d, want %v and %d", got.Type, got.Reply.Len(),
					tt.want, tt.wantReply)
			}
			if reads := tt.name == "as long as MaxMessage"; reads != (len(got.Reads) > 0) {
				t.Errorf("read list %v", got.Reads)
			} else if reads {
				p.done(5)
			}
			tooLong := uint64(0)
			if tt.want == rpcrdma.TypeError {
				tooLong = 1
				if got.Err != rpcrdma.ErrChunk {
					t.Errorf("error %v", got.Err)
				}
			}
			r.freed(tt.count)
			p.alive()
			if got := conn.Stats().TooLong; got != tooLong {
				t.Errorf("TooLong %d, want %d", got, tooLong)
			}
			r.memoryBack(p)
		})
	}
}

// TestReplyReadsBothEnds: a real client reads replies of a real server, over providers with all
// abilities and with none.
func TestReplyReadsBothEnds(t *testing.T) {
	for _, abilities := range []string{"all", "minimum"} {
		t.Run(abilities, func(t *testing.T) {
			cfg := rpcrdma.Config{Dialect: rpcrdma.Draft, SegmentSize: 30_000, Logger: quiet}
			ccfg := cfg
			ccfg.NoReplyChunks = true
			var r *rig
			var c *rpcrdma.Conn
			if abilities == "all" {
				r = newRig(t, cfg)
				c = r.dial(ccfg)
			} else {
				r = newRigOn(t, cfg, loopback.Config{}, withoutAbilities)
				c = r.dialOn(ccfg, withoutAbilities)
			}
			want := uint64(0)
			for _, size := range []int{0, 1, 3, 500, 1023, 1024, 4028, 4029, 5000, 5001, 5002, 5003, 100_003} {
				for _, count := range []int{1, 2, 3, 12} {
					var got items
					req := oncrpc.Request{Procedure: procSource,
						Args: &source{uint32(count), uint32(size)}, Reply: &got, MaxReply: 100}
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
						t.Fatalf("%d items of %d bytes: %d RDMA_DONEs sent, want %d", count, size,
							n, want)
					}
				}
			}
			if err := client(c).Call(t.Context(), procNull, nil, nil); err != nil {
				t.Fatal(err)
			}
			conn := wait(t, r.program.conns)
			if got := conn.Stats(); got.DonesReceived != want || got.DonesIgnored != 0 {
				t.Errorf("server: %d RDMA_DONEs, %d ignored, want %d and none", got.DonesReceived,
					got.DonesIgnored, want)
			}
			r.memoryBack()
		})
	}
}
