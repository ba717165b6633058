package rpcrdma_test

import (
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
	c, p := rawServer(t, rpcrdma.Config{SegmentSize: 1024}, inline4k)
	first := start(t.Context(), c, &items{}, nil) // uses the only credit
	h, _ := p.next()
	for _, impossible := range []*started{
		start(t.Context(), c, &items{data: [][]byte{make([]byte, size)}}, nil), // by its read list
		start(t.Context(), c, &items{}, make([]byte, size)),                    // by its write list
	} {
		checkEnd(t, wait(t, impossible.err), chunks.ErrHeader)
	}
	if _, used, _ := c.Credits(); used != 1 {
		t.Errorf("%d credits in use, want that of the first call", used)
	}
	p.answer(h.XID)
	if err := wait(t, first.err); err != nil {
		t.Error(err)
	}
	clientWorks(t, c, p)
}

// TestImpossibleMeanwhile: while a call waits for a credit, the ends agree on smaller sizes, so
// that the call becomes impossible. It keeps no credit.
func TestImpossibleMeanwhile(t *testing.T) {
	c, p := rawServer(t, rpcrdma.Config{SegmentSize: 1024}, inline4k)
	first := start(t.Context(), c, &items{}, nil)
	h, _ := p.next()
	// It has 100 segments.
	second := start(t.Context(), c, &items{data: [][]byte{make([]byte, 100<<10)}}, nil)
	waitFor(t, func() bool { _, _, waiting := c.Credits(); return waiting == 1 })
	c.UpdateSettings(func(s *rpcrdma.Settings) { s.MaxSend = rpcrdma.DefaultInline })
	p.answer(h.XID)
	if err := wait(t, first.err); err != nil {
		t.Error(err)
	}
	checkEnd(t, wait(t, second.err), chunks.ErrHeader)
	clientWorks(t, c, p)
}

// TestCallsWithoutReads: a client whose IRD is 0 sends no read chunks. One whose ORD is 0 does.
func TestCallsWithoutReads(t *testing.T) {
	r := newRig(t, rpcrdma.Config{})
	for low, want := range map[loopback.Config]error{
		{IRD: -1}: chunks.ErrNoReads, {ORD: -1}: nil,
	} {
		r.dialer = r.fabric.Dialer(low)
		c := r.dialOn(rpcrdma.Config{}, sameEndpoint)
		args := &items{data: [][]byte{make([]byte, 20_000)}}
		if err := client(c).Call(t.Context(), procSink, args, nil); !errors.Is(err, want) {
			t.Errorf("%+v: got %v, want %v", low, err, want)
		}
		if err := client(c).Call(t.Context(), procNull, nil, nil); err != nil {
			t.Error(err)
		}
	}
}
