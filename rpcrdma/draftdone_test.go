package rpcrdma_test

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// replyReader is a client of a rig that is played by hand, and reads replies in the Draft.
type replyReader struct {
	*rig
	*rawPeer
	t    testing.TB
	conn *rpcrdma.Conn // the server's end
}

// replyReader connects a client. It has been granted what the server grants.
func (r *rig) replyReader(p privateData) *replyReader {
	r.t.Helper()
	d := &replyReader{rig: r, rawPeer: r.raw(p), t: r.t}
	d.alive()
	d.conn = r.program.connOf(r.t, d.rawPeer)
	return d
}

// source asks for items and returns the reply's header.
func (p *rawPeer) source(xid, count, size uint32) *rpcrdma.Header {
	p.t.Helper()
	p.send(header(xid, rpcrdma.TypeMsg), callBytes(xid, procSource, &source{count, size}))
	h, _ := p.next()
	if h.XID != xid || len(h.Reads) == 0 {
		p.t.Fatalf("answer %+v, want a reply with a read list", h)
	}
	return h
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

// finish checks that nothing is under way any more, and how many RDMA_DONEs the server counted.
func (d *replyReader) finish(received, ignored, missed uint64) {
	d.t.Helper()
	d.checkReceives(d.ledgers.of(d.t, d.conn))
	d.notFreed()
	s, want := d.conn.Stats(), [...]uint64{received, ignored, missed}
	if got := [...]uint64{s.DonesReceived, s.DonesIgnored, s.DonesMissed}; got != want {
		d.t.Errorf("%d RDMA_DONEs received, ignored and missed, want %d", got, want)
	}
	d.memoryBack(d.rawPeer)
}

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

// TestReplyReads: a client offers no chunks, or a reply chunk that is too small, and reads the rest
// of the reply (draft sections 3.4, 3.8, 5.1 and 5.2). The memory of the reply stays until its
// RDMA_DONE, and no longer. rpcrdma/matrix has the other ways.
func TestReplyReads(t *testing.T) {
	for _, tt := range []struct {
		name        string
		cfg         rpcrdma.Config
		recv        int // inline
		count, size int
		reply       int    // bytes offered
		want        string // read list: position+length; at position 0 is the message
	}{
		{"bulk data", rpcrdma.Config{SegmentSize: 2000}, 4096, 1, 5001, 0, "36+2000 36+2000 36+1001"},
		{"one byte too much for inline", rpcrdma.Config{}, 4096, 1, 4029, 0, "36+4029"},
		{"long", rpcrdma.Config{}, 4096, 10, 500, 0, "0+5112"},
		{"long, with bulk data beside it", rpcrdma.Config{}, 1024, 31, 1024, 0, "0+280"},
		{"more items than the header holds", rpcrdma.Config{}, 1024, 45, 1024, 0, "0+46472"},
		{"reply chunk too small", rpcrdma.Config{}, 4096, 10, 500, 5111, "0+5112"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := tt.cfg
			cfg.Dialect = rpcrdma.Draft
			d := newRig(t, cfg).replyReader(privateData{Send: 4096, Recv: tt.recv})
			const xid = 77
			h := header(xid, rpcrdma.TypeMsg)
			if tt.reply > 0 {
				h.SetReply([]chunks.Segment{d.expose(make([]byte, tt.reply), transport.RemoteWrite)})
			}
			d.send(h, callBytes(xid, procSource, &source{uint32(tt.count), uint32(tt.size)}))
			got, body := d.next()
			long := strings.HasPrefix(tt.want, "0+")
			if got.XID != xid || got.Credits == 0 || (got.Type == rpcrdma.TypeNoMsg) != long {
				t.Fatalf("reply %+v", got)
			}
			var reads []string
			data := map[int][]byte{0: body} // by position
			for _, s := range got.Reads {
				pos := int(s.Position)
				reads = append(reads, fmt.Sprintf("%d+%d", pos, s.Length))
				data[pos] = append(data[pos], d.read(s.Segment)...)
			}
			if list := strings.Join(reads, " "); !strings.HasPrefix(list, tt.want) {
				t.Errorf("read list %s, want %s", list, tt.want)
			}
			if got.HasReply != (tt.reply > 0) || got.Reply.Len() != 0 {
				t.Errorf("reply chunk %v, want none or one of length 0", got.Reply)
			}
			want := sourceReply(xid, tt.count, tt.size)
			for _, pos := range slices.Backward(slices.Sorted(maps.Keys(data))) {
				n := len(data[pos])
				if !bytes.Equal(data[pos], want[pos:pos+n]) {
					t.Errorf("%d bytes at position %d differ", n, pos)
				}
				want = slices.Delete(want, pos, pos+xdr.RoundUp(n))
			}
			if len(want) > 0 {
				t.Errorf("%d bytes are missing", len(want))
			}
			d.alive()
			d.notFreed()
			if n := d.server.Stats().InFlight; n != 1 { // Shutdown waits for it, too
				t.Errorf("%d calls under way, want 1", n)
			}
			d.done(xid)
			d.freed(tt.count)
			d.finish(1, 0, 0)
			if d.conn.Stats().Withheld != 0 || d.canRead(got.Reads[0].Segment) {
				t.Error("the reply can be read after the RDMA_DONE, or has been withheld")
			}
			ended(t, d.conn)
		})
	}
}

// TestReplyNotRead checks how a reply travels that must not have read chunks.
func TestReplyNotRead(t *testing.T) {
	for _, tt := range []struct {
		name        string
		dialect     rpcrdma.Dialect
		ird         int // of the server
		count, size int
		reads       bool
	}{
		{"longer than MaxMessage", rpcrdma.Draft, 0, 2, 40_000, false},
		{"as long as MaxMessage", rpcrdma.Draft, 0, 1, 65536 - 40, true},
		{"the server serves no Reads", rpcrdma.Draft, -1, 1, 5000, false},
		{"RFC 8166", rpcrdma.RFC8166, 0, 1, 5000, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := smallShare
			cfg.Dialect = tt.dialect
			d := newRigOn(t, cfg, loopback.Config{IRD: tt.ird}, sameEndpoint).replyReader(inline4k)
			d.send(header(5, rpcrdma.TypeMsg),
				callBytes(5, procSource, &source{uint32(tt.count), uint32(tt.size)}))
			got, _ := d.next()
			refused := got.Type == rpcrdma.TypeError && got.Err == rpcrdma.ErrChunk
			if len(got.Reads) > 0 != tt.reads || refused == tt.reads {
				t.Errorf("answer %+v, want a read list: %v", got, tt.reads)
			}
			dones, tooLong := uint64(0), uint64(1)
			if tt.reads {
				dones, tooLong = 1, 0
				d.done(5)
			}
			d.freed(tt.count)
			d.finish(dones, 0, 0)
			if got := d.conn.Stats().TooLong; got != tooLong {
				t.Errorf("TooLong %d, want %d", got, tooLong)
			}
		})
	}
}
