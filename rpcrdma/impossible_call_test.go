package rpcrdma_test

import (
	"context"
	"errors"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// TestImpossibleCall makes calls whose chunks fit in no header, while no credit is free. They fail
// at once.
func TestImpossibleCall(t *testing.T) {
	const size = 1 << 20 // 1024 segments
	tests := []struct {
		name   string
		args   *items
		result []byte
	}{
		{"read list", &items{data: [][]byte{make([]byte, size)}}, nil},
		{"write list", &items{}, make([]byte, size)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, p := rawServer(t, rpcrdma.Config{SegmentSize: 1024}, inline4k)
			first := start(t.Context(), c, &items{}, nil) // uses the only credit
			h, _ := p.next()
			impossible := start(t.Context(), c, tt.args, tt.result)
			waitFor(t, func() bool { _, _, waiting := c.Credits(); return waiting > 0 || len(impossible.err) > 0 })
			if _, _, waiting := c.Credits(); waiting > 0 {
				t.Error("it waits for a credit")
			} else if err := wait(t, impossible.err); !errors.Is(err, chunks.ErrHeader) {
				t.Errorf("error %v, want %v", err, chunks.ErrHeader)
			}
			if _, used, _ := c.Credits(); used != 1 {
				t.Errorf("%d credits in use, want that of the first call", used)
			}
			p.send(header(h.XID, rpcrdma.TypeMsg), replyHeader(h.XID), be32(0, 7))
			if err := wait(t, first.err); err != nil {
				t.Error(err)
			}
			clientWorks(t, c, p)
		})
	}
}

// TestImpossibleMeanwhile: while a call waits for a credit, the ends agree on smaller sizes, so
// that the call becomes impossible. It keeps no credit.
func TestImpossibleMeanwhile(t *testing.T) {
	c, p := rawServer(t, rpcrdma.Config{SegmentSize: 1024}, inline4k)
	first := start(t.Context(), c, &items{}, nil)
	h, _ := p.next()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	second := start(ctx, c, &items{data: [][]byte{make([]byte, 100<<10)}}, nil) // 100 segments
	waitFor(t, func() bool { _, _, waiting := c.Credits(); return waiting == 1 })
	c.UpdateSettings(func(s *rpcrdma.Settings) { s.MaxSend = rpcrdma.DefaultInline })
	p.send(header(h.XID, rpcrdma.TypeMsg), replyHeader(h.XID), be32(0, 7))
	if err := wait(t, first.err); err != nil {
		t.Error(err)
	}
	if err := wait(t, second.err); !errors.Is(err, chunks.ErrHeader) {
		t.Errorf("error %v, want %v", err, chunks.ErrHeader)
	}
	clientWorks(t, c, p)
}

// TestCallsWithoutReads: a client whose IRD is 0 sends no read chunks. One whose ORD is 0 does.
func TestCallsWithoutReads(t *testing.T) {
	for _, tt := range []struct {
		name string
		low  loopback.Config
		want error
	}{{"none are served", loopback.Config{IRD: -1}, chunks.ErrNoReads}, {"none are made", loopback.Config{ORD: -1}, nil}} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, rpcrdma.Config{})
			c, err := rpcrdma.Dial(context.Background(), r.fabric.Dialer(tt.low), rigAddr,
				rpcrdma.Config{Logger: quiet})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if err := client(c).Call(t.Context(), procSink, &items{data: [][]byte{make([]byte, 20_000)}}, nil); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
			if err := client(c).Call(t.Context(), procNull, nil, nil); err != nil {
				t.Error(err)
			}
		})
	}
}
