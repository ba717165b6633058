package rpcrdma_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"
	"unsafe"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// echoTwice is a program that returns its arguments, items, and tells where they lay.
func echoTwice(at chan<- []*byte) oncrpc.Program {
	return oncrpc.Program{Number: testProgram, Version: 2, Procedures: []oncrpc.Procedure{
		1: {Name: "ECHO", NonBlocking: true, Handler: func(_ context.Context, c *oncrpc.Call) error {
			var args placed
			args.UnmarshalXDR(c.Args)
			if err := c.Args.Finish(); err != nil {
				return err
			}
			args.MarshalXDR(c.Results)
			at <- args.at
			return nil
		}},
	}}
}

// placed is items that stay where the message has them.
type placed struct {
	items
	at []*byte
}

func (p *placed) UnmarshalXDR(d *xdr.Decoder) {
	for range d.Count(64, 8) {
		d.Uint32()
		b, err := d.Bulk(1 << 20).Bytes(context.Background())
		if err != nil {
			d.Fail(err)
		}
		p.at, p.data = append(p.at, unsafe.SliceData(b)), append(p.data, bytes.Clone(b))
	}
	p.tail = d.Uint32()
}

// TestPaddedLandsAligned checks on addresses that data which one end pads lies where the receives
// of the other have their second buffers, which begin at multiples of the alignment, and that it is
// not copied on the way to the handler, or back to the caller (draft section 3.9): whatever a Send
// is cut into on its way, whether receives are promised or posted with their memory, and also when
// the two ends have agreed on longer ones.
func TestPaddedLandsAligned(t *testing.T) {
	const first, later = 8192, 40_000
	for _, network := range []struct {
		name   string
		shared bool // receives are promised
		make   provider
	}{
		{"loopback", true, providers["loopback"]},
		{"loopback, posted", false, providers["loopback"]},
		{"iwarp", true, onIWARP(iwarp.Config{CRC: iwarp.CRCOff})},
		{"iwarp, posted", false, onIWARP(iwarp.Config{CRC: iwarp.CRCOff})},
		{"iwarp with CRC", true, onIWARP(iwarp.Config{CRC: iwarp.CRCOn})},
		{"iwarp in many segments", true, onIWARP(iwarp.Config{CRC: iwarp.CRCOff, MaxSegment: 700})},
		{"iwarp with CRC in many segments", true, onIWARP(iwarp.Config{CRC: iwarp.CRCOn, MaxSegment: 1001})},
		{"iwarp with markers", true, onIWARP(iwarp.Config{Markers: mpa.MarkersOn})},
	} {
		for _, align := range []int{128, 256, 4096} { // all larger than what precedes the data
			t.Run(fmt.Sprintf("%s/%d", network.name, align), func(t *testing.T) {
				cfg := rpcrdma.Config{Logger: quiet, Dialect: rpcrdma.Draft, InlineSend: first,
					InlineRecv: first, Align: align, PeerAlign: align, NoReplyChunks: true}
				ends := newWatchedEnds(t, network.make, network.shared, cfg)
				at := make(chan []*byte, 1)
				ends.server.Handle(echoTwice(at))
				cl := oncrpc.NewClient(ends.client, testProgram, 2, oncrpc.AuthNone())
				padded := uint64(0)
				echo := func(size int, lengths ...int) {
					t.Helper()
					args, reply := &items{}, &placed{}
					for _, n := range lengths {
						args.data = append(args.data, pattern(uint64(n), n))
					}
					if err := cl.Do(t.Context(), &oncrpc.Request{Procedure: 1, Args: args, Reply: reply}); err != nil {
						t.Fatalf("%v: %v", lengths, err)
					}
					padded++
					if !slices.EqualFunc(reply.data, args.data, bytes.Equal) {
						t.Errorf("%v: the data differs", lengths)
					}
					ends.atServer.check(t, "call", wait(t, at), lengths, align, size)
					ends.atClient.check(t, "reply", reply.at, lengths, align, size)
				}
				for _, lengths := range [][]int{{1024}, {4000}, {10, 3000}} {
					echo(first, lengths...)
				}
				if network.shared {
					if here, there := ends.client.EnlargeReceives(later), ends.peer.EnlargeReceives(later); here != later || there != later {
						t.Fatalf("expected %d and %d, want %d", here, there, later)
					}
					for _, end := range []*rpcrdma.Conn{ends.client, ends.peer} {
						end.UpdateSettings(func(s *rpcrdma.Settings) { s.MaxSend, s.MaxReplySend = later, later })
					}
					for _, lengths := range [][]int{{1024}, {16384}, {1025, 2000}, {10, 3000}, {9000, 9001, 5, 9002}, {30_000}} {
						echo(1<<16, lengths...) // receives come in fixed sizes
					}
				}
				for _, end := range []*rpcrdma.Conn{ends.client, ends.peer} {
					if got := end.Stats().Padded; got != padded {
						t.Errorf("%d RDMA_MSGPs have come, want %d", got, padded)
					}
				}
			})
		}
	}
}

// TestTwoBuffers sends messages to receives of two buffers: padded for these, for others, and not
// at all. Wherever the boundary lies, even in the header, both ends decode them.
func TestTwoBuffers(t *testing.T) {
	for _, peerAlign := range []int{0, 16, 64, 512} {
		for _, align := range []int{64, 128, 256} {
			t.Run(fmt.Sprintf("padded to %d, receives to %d", peerAlign, align), func(t *testing.T) {
				cfg := rpcrdma.Config{Dialect: rpcrdma.Draft, Align: align, PeerAlign: peerAlign,
					MinChunk: 64}
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
		r := newRig(t, rpcrdma.Config{Dialect: rpcrdma.Draft, Align: 64})
		p := r.raw(inline4k)
		for n := range 12 {
			xid := uint32(100 + n)
			h := header(xid, rpcrdma.TypeMsgP)
			h.Align, h.Threshold = 32, 40
			for range n {
				h.AddWrite([]chunks.Segment{{Handle: 1}})
			}
			m := callMessage(xid, procSink, &items{data: [][]byte{pattern(1, 50), pattern(2, 39)}, tail: 4})
			p.sendBytes(padded(h, &m, nil, 40, 0xee))
			if got, body := p.next(); got.Type != rpcrdma.TypeMsg || !bytes.Equal(body, replyHeader(xid)) {
				t.Fatalf("%d write chunks: answer %v % x", n, got.Type, body)
			}
			got := wait(t, r.program.calls)
			if !bytes.Equal(got.data[0], pattern(1, 50)) || !bytes.Equal(got.data[1], pattern(2, 39)) || got.tail != 4 {
				t.Errorf("%d write chunks: arguments differ", n)
			}
			b := header(xid, rpcrdma.TypeMsg).Append(nil)
			// A write chunk with more segments than bytes.
			b = append(b[:16], be32(0, 1, 50)...)
			p.sendBytes(append(b, make([]byte, 8*n)...))
			if got, _ := p.next(); got.Type != rpcrdma.TypeError || got.Err != rpcrdma.ErrChunk {
				t.Fatalf("malformed header of %d bytes: answer %v", len(b)+8*n, got.Type)
			}
		}
		p.alive()
	})
}
