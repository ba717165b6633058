package rpcrdma_test

import (
	"bytes"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// TestCopyBack offers a write chunk over a provider that cannot import the caller's memory. The
// chunk is memory of the pool, which is copied to the caller's memory afterwards. Only what the
// server claims to have written is copied, whatever else the reply has.
func TestCopyBack(t *testing.T) {
	const size = 5000
	tests := []struct {
		name   string
		writes int // bytes of the write chunk returned; -1: none
		reads  int // bytes of the read chunk
	}{
		{"all written", size, 0},
		{"part written", 700, 0},
		{"read chunk, nothing written", 0, size},
		{"read chunk in place of a write list", -1, size},
		{"shorter", -1, 700},
		{"longer than the write chunk, and than its buffer", -1, 20_000},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, p := rawServerOn(t, rpcrdma.Config{Dialect: rpcrdma.Draft}, inline4k,
				withoutAbilities)
			clientWorks(t, c, p)
			land, written := bytes.Repeat([]byte{0xee}, size), max(tt.writes, 0)
			s := start(t.Context(), c, &items{}, land)
			s.reply.land = false // the test checks its results itself
			h, _ := p.next()
			if len(h.Writes) != 1 || h.Writes[0].Len() != size {
				t.Fatalf("write list %v, want one chunk of %d bytes", h.Writes, size)
			}
			want := bytes.Clone(land)
			copy(want, pattern(1, written))
			if written > 0 {
				p.writeChunk(h.Writes[0], pattern(1, written))
			}
			r := header(h.XID, rpcrdma.TypeMsg)
			if tt.writes >= 0 {
				segs, _ := chunks.Distribute(nil, h.Writes[0], written)
				r.AddWrite(segs)
			}
			if tt.reads > 0 {
				r.Reads = p.readSegments(36, pattern(2, tt.reads))
			}
			p.send(r, result(h.XID, max(written, tt.reads)))
			if tt.reads > 0 {
				p.nextDone(h.XID, 64)
			}
			err := wait(t, s.err)
			if !bytes.Equal(land, want) {
				t.Errorf("the caller's memory does not have the %d bytes that were written, or has others", written)
			}
			if err != nil || !bytes.Equal(s.reply.data[0], append(want[:written:written], pattern(2, tt.reads)...)) {
				t.Errorf("error %v, or the result differs", err)
			}
			clientWorks(t, c, p)
		})
	}
}
