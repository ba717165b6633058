package rpcrdma_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// reach has the peer reach for memory that it must not get at: that ends the connection for the
// reason want.
func (p *rawPeer) reach(c *rpcrdma.Conn, s chunks.Segment, op transport.Op, want error) {
	p.t.Helper()
	wr := transport.WorkRequest{
		Op:     op,
		Remote: transport.Remote{STag: transport.STag(s.Handle), Offset: s.Offset},
		Local:  []transport.Slice{{Bytes: bytes.Repeat([]byte{0xee}, int(s.Length))}},
		Done:   make(completer, 1),
	}
	if err := p.ep.Post(&wr); err != nil {
		p.t.Fatal(err)
	}
	ended(p.t, c)
	if err := c.Endpoint().Err(); !errors.Is(err, want) {
		p.t.Errorf("ended with %v, want %v", err, want)
	}
}

// TestWindowsEnd accesses memory of a call where the peer must not: after the data (rpcrdma-3.7-5),
// and after the reply (rpcrdma-3.5-2).
func TestWindowsEnd(t *testing.T) {
	const size = 9001
	kinds := []struct {
		name   string
		result bool // the result has a buffer
		op     transport.Op
		chunk  func(h *rpcrdma.Header) chunks.Segment // the last segment of it
	}{
		{"read chunk", false, transport.OpRead, func(h *rpcrdma.Header) chunks.Segment { return h.Reads[len(h.Reads)-1].Segment }},
		{"write chunk", true, transport.OpWrite, func(h *rpcrdma.Header) chunks.Segment { return h.Writes[0][len(h.Writes[0])-1] }},
		{"reply chunk", false, transport.OpWrite, func(h *rpcrdma.Header) chunks.Segment { return h.Reply[len(h.Reply)-1] }},
	}
	for _, abilities := range []string{"all", "minimum"} {
		wrap := sameEndpoint
		if abilities == "minimum" {
			wrap = withoutAbilities
		}
		for _, kind := range kinds {
			begin := func(t *testing.T, mem []byte) (*rpcrdma.Conn, *rawPeer, *started, *rpcrdma.Header) {
				c, p := rawServerOn(t, rpcrdma.Config{}, inline4k, wrap)
				var result []byte
				if kind.result {
					result = mem
				}
				s := start(context.Background(), c, &items{data: [][]byte{pattern(1, size)}},
					result)
				h, _ := p.next()
				return c, p, s, h
			}
			t.Run(abilities+"/"+kind.name+"/behind the data", func(t *testing.T) {
				mem := make([]byte, size, size+8)
				c, p, s, h := begin(t, mem)
				seg := kind.chunk(h)
				seg.Length++
				p.reach(c, seg, kind.op, transport.ErrBounds)
				if wait(t, s.err) == nil {
					t.Error("the call has a reply")
				}
				if behind := mem[size:cap(mem)]; !bytes.Equal(behind, make([]byte, len(behind))) {
					t.Errorf("written behind the data: %x", behind)
				}
			})
			t.Run(abilities+"/"+kind.name+"/after the reply", func(t *testing.T) {
				mem := make([]byte, size)
				c, p, s, h := begin(t, mem)
				r := header(h.XID, rpcrdma.TypeMsg)
				for _, w := range h.Writes {
					segs, _ := chunks.Distribute(nil, w, 0)
					r.AddWrite(segs)
				}
				p.send(r, replyHeader(h.XID), be32(0, 7))
				if err := wait(t, s.err); err != nil {
					t.Fatal(err)
				}
				p.reach(c, kind.chunk(h), kind.op, transport.ErrSTag)
				if !bytes.Equal(mem, make([]byte, size)) {
					t.Error("written after the reply")
				}
			})
		}
	}
}
