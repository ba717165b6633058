//go:build interop

package tshark

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/transporttest"
)

// tshark finds FPDUs with many markers, but not what follows the second marker. So no message is
// decoded here.
func TestLongSegments(t *testing.T) {
	tests := []struct {
		maxSegment int
		most       int // markers in an FPDU
		// of Writes and Reads, such that no FPDU ends where a marker will stand: tshark would lose
		// track
		sizes []int
	}{
		{maxSegment: smallSegment, most: 3, sizes: []int{1, 700, 3000, 25_001}},
		{maxSegment: 4000, most: 8, sizes: []int{10_000, 31, 77_777}},
		{maxSegment: 1<<16 - 1, most: 128, sizes: []int{200_003, 64_738, 300}},
	}
	for _, tt := range tests {
		for _, crc := range []iwarp.CRC{iwarp.CRCOff, iwarp.CRCOn} {
			t.Run(fmt.Sprintf("%d bytes%s", tt.maxSegment, map[iwarp.CRC]string{iwarp.CRCOn: " with CRC"}[crc]), func(t *testing.T) {
				t.Parallel()
				cfg := iwarp.Config{Markers: mpa.MarkersOn, CRC: crc, MaxSegment: tt.maxSegment, NudgeAfter: -1}
				flows, posts, _ := observe(t, cfg, cfg, [2]bool{true, true}, func(ctx context.Context, l, d *counted) {
					bulkSession(ctx, t, l, d, tt.sizes)
				})
				wants := []map[opcode]messages{posted(posts, tally{}, nil), posted(tally{}, posts, nil)}
				for i, from := range []string{"client", "server"} {
					got := &flows[i]
					if diff := cmp.Diff(wants[i], got.Ops); diff != "" {
						t.Errorf("from the %s (-want +got):\n%s", from, diff)
					}
					if len(got.Problems) > 0 {
						t.Errorf("from the %s: %q", from, got.Problems)
					}
					got.check(t, from, framing{CRC: crc == iwarp.CRCOn, Markers: true, Version: 1})
					if got.most != tt.most {
						t.Errorf("from the %s: at most %d markers in an FPDU, want %d", from, got.most, tt.most)
					}
				}
			})
		}
	}
}

const bulkAccess = transport.RemoteRead | transport.RemoteWrite

// bulkSession writes bytes of each size to the server's memory, and reads them back.
func bulkSession(ctx context.Context, t *testing.T, l transport.Listener, d transport.Dialer, sizes []int) {
	t.Helper()
	a, b := connect(ctx, t, l, d)
	a.Start(nobody{})
	b.Start(nobody{})
	memory := func(ep transport.Endpoint) transport.Slice {
		s, err := ep.Domain().Alloc(1<<18, bulkAccess|transport.LocalWrite)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	window := transporttest.Expose(t, b, []transport.Slice{memory(b)}, bulkAccess)
	data := memory(a)
	for i := range data.Bytes {
		data.Bytes[i] = byte(i * i >> 3)
	}
	done := make(completed, 1)
	for _, op := range []transport.Op{transport.OpWrite, transport.OpRead} {
		for _, n := range sizes {
			wr := &transport.WorkRequest{
				Op: op, Flags: transport.Signaled, Local: []transport.Slice{data.Sub(0, n)},
				Remote: transport.Remote{STag: window.STag, Offset: window.Base}, Done: done,
			}
			if err := a.Post(wr); err != nil {
				t.Fatal(err)
			}
			select {
			case err := <-done:
				if err != nil {
					t.Fatal(err)
				}
			case <-ctx.Done():
				t.Fatalf("%v of %d bytes is not complete", op, n)
			}
		}
	}
	a.Close()
	b.Close()
	<-a.Done()
	<-b.Done()
}

// completed receives the completions, one request at a time.
type completed chan error

func (c completed) Complete(_ *transport.WorkRequest, err error) { c <- err }
