package rpcrdma_test

import (
	"slices"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// TestEmptyResult: buffers for results are empty. Those at the end get no write chunk. Others get
// one, to keep their place, with a segment: Linux's server refuses chunks without segments.
func TestEmptyResult(t *testing.T) {
	for _, tt := range []struct{ results, want []int }{
		{[]int{9000, 0, 0}, []int{9000}},
		{[]int{0, 9000}, []int{0, 9000}},
	} {
		c, p := rawServer(t, rpcrdma.Config{}, inline4k)
		x := &oncrpc.Exchange{Call: callMessage(0, procSink, nil)}
		for _, n := range tt.results {
			x.Results = append(x.Results, make([]byte, n))
		}
		done := roundTrip(t.Context(), c, x)
		h, _ := p.next()
		r := header(h.XID, rpcrdma.TypeMsg)
		var got []int
		for _, w := range h.Writes {
			got = append(got, int(w.Len()))
			segs, _ := chunks.Distribute(nil, w, 0)
			r.AddWrite(segs)
		}
		if !slices.Equal(got, tt.want) || len(h.Writes[0]) != 1 {
			t.Errorf("results %v: write list %v, want lengths %v", tt.results, h.Writes, tt.want)
		}
		p.send(r, replyHeader(h.XID))
		if err := wait(t, done); err != nil {
			t.Error(err)
		}
	}
}

// TestLinuxSizedReply checks that a client with small inline sizes posts receives that hold what
// Linux's server sends regardless.
func TestLinuxSizedReply(t *testing.T) {
	c, p := rawServer(t, rpcrdma.Config{InlineRecv: 1024}, inline4k)
	s := start(t.Context(), c, &items{}, nil)
	h, _ := p.next()
	p.send(header(h.XID, rpcrdma.TypeMsg), echoReply(h.XID, pattern(1, 3000)))
	if err := wait(t, s.err); err != nil {
		t.Error(err)
	}
}
