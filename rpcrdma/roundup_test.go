package rpcrdma_test

import (
	"context"
	"errors"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// TestRoundUpInRFC8166: a server of the Draft dialect fills a write chunk whose length is not a
// multiple of four. The error at an RFC 8166 client names the Draft dialect, unless neither dialect
// allows the length.
func TestRoundUpInRFC8166(t *testing.T) {
	const size = 10_001
	for _, tt := range []struct {
		name   string
		excess uint32
		draft  bool
	}{{"by the round-up", 3, true}, {"by less", 2, false}, {"by more", 7, false}} {
		t.Run(tt.name, func(t *testing.T) {
			c, p := rawServer(t, rpcrdma.Config{}, inline4k)
			s := start(context.Background(), c, &items{data: [][]byte{make([]byte, size)}}, make([]byte, size))
			h, _ := p.next()
			r := header(h.XID, rpcrdma.TypeMsg)
			r.AddWrite(h.Writes[0])
			r.Writes[0][0].Length += tt.excess
			p.send(r, result(h.XID, size))
			if err := wait(t, s.err); !errors.Is(err, chunks.ErrMalformed) || errors.Is(err, rpcrdma.ErrRoundUp) != tt.draft {
				t.Errorf("got %v, want ErrRoundUp: %v", err, tt.draft)
			}
		})
	}
}
