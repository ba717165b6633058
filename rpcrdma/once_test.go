package rpcrdma_test

import (
	"bytes"
	"context"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// onceProgram has procedure 1, which is executed once.
func onceProgram(handler oncrpc.Handler) oncrpc.Program {
	p := oneProcedure(1, handler)
	p.Procedures[1].Once = true
	return p
}

// TestOncePieces repeats a call whose data comes in other segments, inline, or in a long message,
// and then with a byte changed. However the handler fetches, it runs for the first and the last of
// them.
func TestOncePieces(t *testing.T) {
	const proc, size = 1, 3001
	for name, fetch := range map[string]func(context.Context, xdr.Bulk) ([]byte, error){
		"FetchInto": func(ctx context.Context, b xdr.Bulk) ([]byte, error) {
			p := make([]byte, b.Len())
			return p, b.FetchInto(ctx, [][]byte{p[:1000], p[1000:]})
		},
		"Bytes": func(ctx context.Context, b xdr.Bulk) ([]byte, error) { return b.Bytes(ctx) },
		"Take": func(ctx context.Context, b xdr.Bulk) ([]byte, error) {
			p, release, err := b.Take(ctx)
			if err == nil {
				defer release.Release()
			}
			return bytes.Clone(p), err
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, rpcrdma.Config{})
			runs, data := uint32(0), pattern(1, size)
			r.server.Replace(onceProgram(func(ctx context.Context, c *oncrpc.Call) error {
				p, err := fetch(ctx, c.Args.Bulk(size))
				if err != nil {
					return err
				}
				if !bytes.Equal(p, data) {
					t.Error("the handler got other data")
				}
				runs++
				c.Results.Uint32(runs)
				return nil
			}))
			p := r.raw(inline4k)
			body := append(callBytes(7, proc, nil), be32(size)...)
			for _, tt := range []struct {
				cuts   []int // where the segments end; nil: inline
				long   bool
				change byte // of the last byte
				want   uint32
			}{
				{[]int{size}, false, 0, 1},
				{nil, true, 0, 1},
				{[]int{1024, 1025, 2500, size}, false, 0, 1},
				{nil, false, 0, 1},
				{[]int{1, size}, false, 1, 2},
				{nil, true, 0, 2},
			} {
				h, b, at := header(7, rpcrdma.TypeMsg), slices.Clip(body), 0
				data[size-1] ^= tt.change
				for _, end := range tt.cuts {
					h.Reads = append(h.Reads, p.readSegments(uint32(len(body)), data[at:end])...)
					at = end
				}
				if tt.cuts == nil {
					b = append(append(b, data...), make([]byte, xdr.RoundUp(size)-size)...)
				}
				if tt.long {
					h.Type, h.Reads = rpcrdma.TypeNoMsg, p.readSegments(0, b)
					b = nil
				}
				p.send(h, b)
				if _, got := p.next(); !bytes.Equal(got, append(replyHeader(7), be32(tt.want)...)) {
					t.Errorf("segments to %v: got %x, want a result of %d", tt.cuts, got, tt.want)
				}
			}
		})
	}
}

// TestOnceOrder repeats a call over the second of two connections. A copy on the first is late, and
// gets the same answer, although the server is slow to serve the first.
func TestOnceOrder(t *testing.T) {
	var made atomic.Int32
	served := make(chan struct{})
	l, d := providers["loopback"](t)
	slow := delayed{l, func() {
		if made.Add(1) == 1 {
			<-served
		}
	}}
	r := serveRig(t, rpcrdma.Config{Credits: 2}, slow, d, sameEndpoint)
	runs := uint32(0)
	r.server.Replace(onceProgram(func(_ context.Context, c *oncrpc.Call) error {
		runs++
		c.Results.Uint32(runs)
		return nil
	}))
	first, second := r.raw(inline4k), r.raw(inline4k)
	ask := func(p *rawPeer, xid, want uint32) {
		t.Helper()
		p.send(header(xid, rpcrdma.TypeMsg), callBytes(xid, 1, nil))
		if _, got := p.next(); !bytes.Equal(got, append(replyHeader(xid), be32(want)...)) {
			t.Errorf("call %d: got %x, want a result of %d", xid, got, want)
		}
	}
	for xid := range uint32(9) { // the client has got the reply to call 1
		ask(second, 1+xid, 1+xid)
	}
	close(served)
	ask(first, 1, 1)
}
