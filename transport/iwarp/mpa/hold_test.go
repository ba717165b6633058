package mpa

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
)

// reluctant is a sink that takes each segment only when offered again.
type reluctant struct {
	collector
	refused bool
	held    int
}

func (s *reluctant) Segment(segment []byte) error {
	if s.refused = !s.refused; s.refused {
		s.held++
		return ddp.ErrHold
	}
	return s.collector.Segment(segment)
}

func (s *reluctant) Ready() bool { return false }

// TestReceiveHeld has a sink that takes each segment only when offered again. No segment is lost,
// whatever follows it. Meanwhile the buffer is returned to the pool, and only little memory is
// kept.
func TestReceiveHeld(t *testing.T) {
	sizes := []int{14, 61, 5000, 20, 40_000, 14, 14, 64_700, 20_000, 17}
	for _, o := range []ConnOptions{{}, {CRC: true}, {MarkersIn: true}, {CRC: true, MarkersIn: true}} {
		t.Run(fmt.Sprintf("%+v", o), func(t *testing.T) {
			want, stream := streamOf(o.CRC, sizes...)
			if o.MarkersIn {
				var marked *markedStream
				want, marked = markedOf(0, o.CRC, sizes...)
				stream = marked.out
			}
			c, peer := newConn(t, o)
			go hangUp(t, peer, stream)
			var got reluctant
			var err error
			for err == nil || err == ddp.ErrHold {
				err = c.Receive(&got)
				if err != ddp.ErrHold {
					continue
				}
				if c.in.whole() {
					t.Fatal("a buffer is kept with a segment that is held")
				}
				if most := readLittle + maxMarked; len(c.in.buf) > most {
					t.Fatalf("%d bytes are kept behind a segment that is held, want no more than %d", len(c.in.buf), most)
				}
			}
			if !errors.Is(err, io.EOF) {
				t.Errorf("got error %v, want %v", err, io.EOF)
			}
			if d := diffULPDUs(want, got.ulpdus); d != "" {
				t.Errorf("ULPDUs (-want +got):\n%s", d)
			}
			if got.held != len(sizes) {
				t.Errorf("%d segments were held, want %d", got.held, len(sizes))
			}
		})
	}
}
