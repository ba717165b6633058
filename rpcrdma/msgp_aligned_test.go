package rpcrdma

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"unsafe"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// TestPaddedLandsAligned checks on addresses that data which a client pads lies where a server's receives have their second buffers, which begin at multiples of
// the alignment, and that it is not copied on the way to the handler (draft section 3.9).
func TestPaddedLandsAligned(t *testing.T) {
	for _, align := range []int{128, 256, 4096, 8192} { // all above what stands in front of the data
		t.Run(fmt.Sprint(align), func(t *testing.T) {
			r, made := newSlowRig(t, Config{Dialect: Draft, InlineRecv: 20480, Align: align})
			var at []*byte
			r.server.Handle(oncrpc.Program{Number: testProgram, Version: 2, Procedures: []oncrpc.Procedure{
				1: {Name: "TAKE", NonBlocking: true, Handler: func(ctx context.Context, c *oncrpc.Call) error {
					for range c.Args.Count(8, 8) {
						c.Args.Uint32()
						b, err := c.Args.Bulk(1 << 20).Bytes(ctx)
						if err != nil {
							return err
						}
						at = append(at, unsafe.SliceData(b))
						if !bytes.Equal(b, pattern(uint64(len(b)), len(b))) {
							return oncrpc.ErrGarbageArgs
						}
					}
					c.Args.Uint32()
					return c.Args.Finish()
				}},
			}})
			c := r.dial(Config{Dialect: Draft, InlineSend: 20480, PeerAlign: align})
			ep := wait(t, made)
			cl := oncrpc.NewClient(c, testProgram, 2, oncrpc.AuthNone())
			for _, sizes := range [][]int{{1024}, {4096}, {8192}, {1025, 2000}, {10, 3000}, {4000, 4000, 1}} {
				at = nil
				args := &items{}
				for _, n := range sizes {
					args.data = append(args.data, pattern(uint64(n), n))
				}
				if err := cl.Do(t.Context(), &oncrpc.Request{Procedure: 1, Args: args}); err != nil {
					t.Fatalf("%v: %v", sizes, err)
				}
				first := true
				for i, n := range sizes {
					if n < 1024 {
						continue
					}
					if off := uintptr(unsafe.Pointer(at[i])) % uintptr(align); off != 0 {
						t.Errorf("%v: item %d lies %d bytes behind a multiple of %d", sizes, i, off, align)
					}
					ep.mu.Lock()
					if room := ep.second[at[i]]; first && room != 20480-align {
						t.Errorf("%v: item %d does not begin a second buffer of %d bytes (%d)", sizes, i, 20480-align, room)
					}
					ep.mu.Unlock()
					first = false
				}
			}
			if err := client(c).Call(t.Context(), procNull, nil, nil); err != nil {
				t.Fatal(err)
			}
			if got := wait(t, r.program.conns).Stats().Padded; got != 6 {
				t.Errorf("%d RDMA_MSGPs, want 6", got)
			}
		})
	}
}

// TestTwoBuffers sends messages to receives of two buffers, padded for them, for other ones, and not at all: wherever the border lies, in the header included, both ends decode
// them.
func TestTwoBuffers(t *testing.T) {
	for _, peerAlign := range []int{0, 16, 64, 512} {
		for _, align := range []int{64, 128, 256} {
			t.Run(fmt.Sprintf("padded to %d, receives to %d", peerAlign, align), func(t *testing.T) {
				cfg := Config{Dialect: Draft, Align: align, PeerAlign: peerAlign, MinChunk: 64}
				c := newRig(t, cfg).dial(cfg)
				for n := range align + 10 {
					for _, land := range []bool{false, true} {
						args := &items{data: [][]byte{pattern(1, n), pattern(2, 5), pattern(3, 300)}, tail: uint32(n)}
						if err := echo(c, args, land); err != nil {
							t.Fatalf("first item of %d bytes, land %v: %v", n, land, err)
						}
					}
				}
			})
		}
	}
	t.Run("the header across both", func(t *testing.T) {
		r := newRig(t, Config{Dialect: Draft, Align: 64})
		p := r.raw(inline4k)
		for n := range 12 {
			xid := uint32(100 + n)
			h := header(xid, TypeMsgP)
			h.Align, h.Threshold = 32, 40
			for range n {
				h.AddWrite([]chunks.Segment{{Handle: 1}})
			}
			m := callMessage(xid, procSink, &items{data: [][]byte{pattern(1, 50), pattern(2, 39)}, tail: 4})
			p.sendBytes(padded(h, &m, nil, 40, 0xee))
			if got, body := p.next(); got.Type != TypeMsg || !bytes.Equal(body, replyHeader(xid)) {
				t.Fatalf("%d write chunks: answer %v % x", n, got.Type, body)
			}
			got := wait(t, r.program.calls)
			if !bytes.Equal(got.data[0], pattern(1, 50)) || !bytes.Equal(got.data[1], pattern(2, 39)) || got.tail != 4 {
				t.Errorf("%d write chunks: arguments differ", n)
			}
			b := header(xid, TypeMsg).Append(nil)
			b = append(b[:16], be32(0, 1, 50)...) // a write chunk of more segments than there are bytes
			p.sendBytes(append(b, make([]byte, 8*n)...))
			if got, _ := p.next(); got.Type != TypeError || got.Err != ErrChunk {
				t.Fatalf("malformed header of %d bytes: answer %v", len(b)+8*n, got.Type)
			}
		}
		p.alive()
	})
}
