//go:build !mpaportable

package mpa

import (
	"slices"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
)

// TestResumeMuch has a buffer full of segments behind the held one, as if the sink had been ready
// when they were read and no longer is.
func TestResumeMuch(t *testing.T) {
	const size = 100
	want, stream := streamOf(false, slices.Repeat([]int{size}, (bufferSize-readFew/2)/fpduSize(size))...)
	c, _ := newConn(t, ConnOptions{})
	r := &c.in
	got := &waverer{placer: placer{piece: 1 << 20}, refuse: 1}
	r.sink = got
	r.n = copy(r.room(len(stream)), stream)
	if err := r.parse(got); err != ddp.ErrHold {
		t.Fatalf("got error %v, want %v", err, ddp.ErrHold)
	}
	if err := c.Receive(got); err != nil {
		t.Fatal(err)
	}
	if d := diffULPDUs(want, got.ulpdus); d != "" {
		t.Errorf("ULPDUs (-want +got):\n%s", d)
	}
}

// waverer is a sink that always says it is ready, and yet refuses one segment.
type waverer struct {
	placer
	n, refuse int
}

func (w *waverer) Segment(segment []byte) error {
	if w.n++; w.n == w.refuse {
		return ddp.ErrHold
	}
	return w.placer.Segment(segment)
}
