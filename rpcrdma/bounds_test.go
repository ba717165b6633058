package rpcrdma_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// says returns the private data of a client and of a server.
func says(t *testing.T, cfg rpcrdma.Config) (client, server []byte) {
	t.Helper()
	_, p := rawServer(t, cfg, privateData{})
	return p.ep.Info().PrivateData, newRig(t, cfg).raw(privateData{}).ep.Info().PrivateData
}

// TestLimits: the smaller of what one end sends and the other receives is what holds. Both ends say
// the same of themselves.
func TestLimits(t *testing.T) {
	const draft, most, all = rpcrdma.Draft, rpcrdma.MaxInline, 1 << 18
	said := func(send, recv int) privateData { return privateData{true, send, recv} }
	for _, tt := range []struct {
		name                   string
		cfg                    rpcrdma.Config
		peer                   privateData
		inlineSend, inlineRecv int
		says                   privateData
	}{
		{"defaults on both ends", rpcrdma.Config{}, inline4k, 4096, 4096, said(4096, 4096)},
		{"a peer that says nothing", rpcrdma.Config{}, privateData{}, 1024, 1024, said(4096, 4096)},
		{"a smaller peer", rpcrdma.Config{InlineSend: most, InlineRecv: most}, said(2048, 8192),
			8192, 2048, said(most, most)},
		{"smallest and largest", rpcrdma.Config{InlineSend: 1024, InlineRecv: most}, said(all, all),
			1024, most, said(1024, most)},
		{"odd number of units", rpcrdma.Config{InlineSend: 5120, InlineRecv: 3072}, said(all, all),
			5120, 3072, said(5120, 3072)},
		{"aligned", rpcrdma.Config{Dialect: draft, Align: 4096}, said(all, all),
			4096, 8192, said(4096, 8192)},
		{"aligned, at the most", rpcrdma.Config{Dialect: draft, Align: most / 2}, said(all, all),
			4096, most, said(4096, most)},
		{"longer than aligned", rpcrdma.Config{Dialect: draft, Align: 64}, said(all, all),
			4096, 4096, said(4096, 4096)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, _ := rawServer(t, tt.cfg, tt.peer)
			if send, recv := c.Inline(); send != tt.inlineSend || recv != tt.inlineRecv {
				t.Errorf("%d, %d, want %d, %d", send, recv, tt.inlineSend, tt.inlineRecv)
			}
			client, server := says(t, tt.cfg)
			if want := tt.says.bytes(); !bytes.HasPrefix(client, want) || !bytes.HasPrefix(server, want) {
				t.Errorf("a client says % x, a server % x, want % x", client, server, want)
			}
		})
	}
}

// TestConfigBounds configures the smallest and the largest values, and checks their effect and the
// defaults of other fields.
func TestConfigBounds(t *testing.T) {
	const KiB, MiB = 1 << 10, 1 << 20
	small := rpcrdma.Config{
		Credits: 1, MinChunk: 1, SegmentSize: 1024,
		MaxMessage: 64 * KiB, ConnMemory: 128 * KiB, ServerMemory: 128 * KiB,
	}
	one := []int{3001}
	for _, tt := range []struct {
		name       string
		cfg        rpcrdma.Config
		credits    uint32
		segments   []int // of a read chunk of 3001 bytes
		bytesMove  bool  // by its own chunks
		maxMessage int
	}{
		{"smallest", small, 1, []int{1024, 1024, 953}, true, 64 * KiB},
		{"largest", rpcrdma.Config{SegmentSize: 1 << 30, MaxMessage: 1 << 30}, 64, one, false, 1 << 30},
		{"defaults", rpcrdma.Config{}, 64, one, false, 4 * MiB},
		{"just room on a connection", rpcrdma.Config{ConnMemory: 8 * MiB}, 64, one, false, 4 * MiB},
		{"less", rpcrdma.Config{ConnMemory: 8*MiB - 8}, 64, one, false, 4*MiB - 4},
		{"the least on a connection", rpcrdma.Config{ConnMemory: 128 * KiB}, 64, one, false, 64 * KiB},
		{"more on a connection", rpcrdma.Config{ConnMemory: 1 << 30}, 64, one, false, 4 * MiB},
		{"the least on a server", rpcrdma.Config{ServerMemory: 128 * KiB}, 64, one, false, 64 * KiB},
		{"both", rpcrdma.Config{ConnMemory: MiB, ServerMemory: MiB}, 64, one, false, 512 * KiB},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, p := rawServer(t, tt.cfg, privateData{})
			call := func(data ...[]byte) *rpcrdma.Header {
				s := start(t.Context(), c, &items{data: data}, nil)
				h, _ := p.next()
				p.answer(h.XID)
				if err := wait(t, s.err); err != nil {
					t.Error(err)
				}
				return h
			}
			h := call(pattern(1, 3001))
			var segments []int
			for _, r := range h.Reads {
				segments = append(segments, int(r.Length))
			}
			if diff := cmp.Diff(tt.segments, segments); diff != "" || h.Credits != tt.credits {
				t.Errorf("%d credits asked for; segments (-want +got):\n%s", h.Credits, diff)
			}
			// Data of one byte or more goes by its own chunk, or from 1024 bytes on.
			h = call(append(slices.Repeat([][]byte{make([]byte, 100)}, 20), nil)...)
			empty := func(r chunks.ReadSegment) bool { return r.Length == 0 }
			own := h.Type == rpcrdma.TypeMsg && len(h.Reads) > 1
			if own != tt.bytesMove || slices.ContainsFunc(h.Reads, empty) {
				t.Errorf("20 items of 100 bytes: %v with reads %v", h.Type, h.Reads)
			}
			most := tt.maxMessage
			req := &oncrpc.Request{Procedure: procNull, MaxReply: most + 1}
			checkEnd(t, client(c).Do(t.Context(), req),
				&oncrpc.ReplyTooLongError{Len: most + 28, Max: most, NotSent: true})

			// The largest call and the largest reply fit in the memory; otherwise the call would
			// wait for ever.
			r := newRig(t, tt.cfg)
			n := uint32(most)
			h = header(1, rpcrdma.TypeMsg)
			h.Reads = []chunks.ReadSegment{{
				Position: 52, Segment: chunks.Segment{Handle: 1, Length: n - 56},
			}}
			h.SetReply([]chunks.Segment{{Handle: 1, Length: n}})
			r.raw(inline4k).send(h, callBytes(1, procBlock, nil), be32(1, 0xfeedbeef, n-56, 9))
			wait(t, r.program.entered)
		})
	}
}
