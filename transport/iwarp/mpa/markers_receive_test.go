package mpa

import (
	"fmt"
	"io"
	"testing"

	"pgregory.net/rapid"
)

// receiveMarked receives until n bytes of the stream have come.
func receiveMarked(t testing.TB, c *Conn, s *collector, n int) {
	t.Helper()
	for c.in.pos+held(&c.in) < n {
		if err := c.Receive(s); err != nil {
			t.Fatalf("behind %d bytes of %d: %v", c.in.pos+held(&c.in), n, err)
		}
	}
}

// held returns the number of bytes that have been read and belong to no complete FPDU.
func held(r *reader) int { return r.n }

// FPDUs of all sizes, in TCP segments of all sizes.
func TestReceiveMarkers(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		crc := rapid.Bool().Draw(r, "CRC")
		ulpdus, s := markedOf(0, crc, rapid.SliceOfN(markedSizes(), 1, 6).Draw(r, "sizes")...)
		part := rapid.OneOf(rapid.IntRange(1, 4), rapid.IntRange(1, 2000), rapid.IntRange(1, 200000))
		c, peer := newConn(r, ConnOptions{CRC: crc, MarkersIn: true})
		defer peer.Close()
		defer c.Close(false)
		var got collector
		for at, n := 0, 0; at < len(s.out); n++ {
			// Limited to the socket buffers, so that write does not wait; after many parts
			// everything fits.
			k := 60000
			if n < 300 {
				k = min(part.Draw(r, "part"), k)
			}
			k = min(k, len(s.out)-at)
			write(t, peer, s.out[at:at+k])
			at += k
			receiveMarked(t, c, &got, at)
		}
		hangUp(t, peer, nil)
		if err := receiveAll(c, &got); err != io.EOF {
			r.Errorf("got error %v, want %v", err, io.EOF)
		}
		if d := diffULPDUs(ulpdus, got.ulpdus); d != "" {
			r.Errorf("ULPDUs (-want +got):\n%s", d)
		}
	})
}

// The same without a connection: with waits between the parts, some for readers that then have no
// buffer.
func TestParseMarkers(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		crc := rapid.Bool().Draw(r, "CRC")
		base := 4 * rapid.IntRange(0, 200).Draw(r, "position")
		ulpdus, s := markedOf(base, crc, rapid.SliceOfN(markedSizes(), 1, 6).Draw(r, "sizes")...)
		parts := rapid.SliceOfN(rapid.Byte(), 1, 20).Draw(r, "parts")
		reader := newReader(crc, true)
		defer reader.release()
		reader.pos = base
		var got collector
		if err := reader.give(s.out, parts, &got); err != nil {
			r.Fatal(err)
		}
		if d := diffULPDUs(ulpdus, got.ulpdus); d != "" {
			r.Errorf("ULPDUs (-want +got):\n%s", d)
		}
		if reader.pos != s.pos() || held(reader) != 0 {
			r.Errorf("got position %d and %d bytes left, want %d and none", reader.pos, held(reader), s.pos())
		}
	})
}

// One byte at a time, and in two parts with every boundary. The FPDUs have markers at the
// beginning, in the payload, before a CRC, and between two.
func TestReceiveMarkersSplit(t *testing.T) {
	for _, crc := range []bool{false, true} {
		t.Run(fmt.Sprintf("CRC %t", crc), func(t *testing.T) {
			ulpdus, s := markedOf(0, crc, 14, 482, 474, 26, 18)
			var ends []int // of the FPDUs
			head := &markedStream{}
			for _, u := range ulpdus {
				head.fpdu(u, crc)
				ends = append(ends, len(head.out))
			}
			whole := func(k int) (n int) {
				for n < len(ends) && ends[n] <= k {
					n++
				}
				return n
			}
			for k := range len(s.out) + 1 {
				r := newReader(crc, true)
				var got collector
				for _, part := range [][]byte{s.out[:k], s.out[k:]} {
					if len(part) == 0 {
						continue
					}
					r.n += copy(r.space(), part)
					if err := r.parseMarked(&got); err != nil {
						t.Fatalf("behind %d bytes: %v", k, err)
					}
					if have := r.pos + held(r); have == k && len(got.ulpdus) != whole(k) {
						t.Fatalf("behind %d bytes: got %d ULPDUs, want %d", k, len(got.ulpdus), whole(k))
					}
				}
				if d := diffULPDUs(ulpdus, got.ulpdus); d != "" {
					t.Fatalf("behind %d bytes: ULPDUs (-want +got):\n%s", k, d)
				}
				r.release()
			}
			r := newReader(crc, true)
			defer r.release()
			var got collector
			for k := range s.out {
				r.n += copy(r.space(), s.out[k:k+1])
				if err := r.parseMarked(&got); err != nil {
					t.Fatalf("at byte %d: %v", k, err)
				}
				if len(got.ulpdus) != whole(k+1) {
					t.Fatalf("behind %d bytes: got %d ULPDUs, want %d", k+1, len(got.ulpdus), whole(k+1))
				}
			}
			if d := diffULPDUs(ulpdus, got.ulpdus); d != "" {
				t.Errorf("ULPDUs (-want +got):\n%s", d)
			}
		})
	}
}

// The stream ends at each byte. It is a proper end only between FPDUs, or behind a marker there.
func TestReceiveMarkersEnd(t *testing.T) {
	ulpdus, s := markedOf(0, true, 14, 482, 14)
	ends := map[int]int{0: 0, markerSize: 0, 24: 1, 512: 2, 512 + markerSize: 2, len(s.out): 3}
	whole := 0
	for k := range len(s.out) + 1 {
		want := io.ErrUnexpectedEOF
		if n, ok := ends[k]; ok {
			whole, want = n, io.EOF
		}
		c, peer := newConn(t, ConnOptions{CRC: true, MarkersIn: true})
		hangUp(t, peer, s.out[:k])
		var got collector
		if err := receiveAll(c, &got); err != want {
			t.Errorf("%d bytes: got error %v, want %v", k, err, want)
		}
		if d := diffULPDUs(ulpdus[:whole], got.ulpdus); d != "" {
			t.Errorf("%d bytes: ULPDUs (-want +got):\n%s", k, d)
		}
		c.Close(false)
		peer.Close()
	}
}

// A peer may send a marker and then wait: the stall watch begins with the FPDU.
func TestReceiveMarkerAlone(t *testing.T) {
	_, s := markedOf(0, false, 14, 482, 14)
	r := newReader(false, true)
	defer r.release()
	var got collector
	for _, step := range []struct {
		to      int // of the stream
		watched bool
	}{{markerSize, false}, {512 + markerSize, false}, {512 + markerSize + 1, true}} {
		r.n += copy(r.space(), s.out[r.pos+held(r):step.to])
		if err := r.parseMarked(&got); err != nil {
			t.Fatal(err)
		}
		if r.armed != step.watched {
			t.Errorf("behind %d bytes: watched is %t, want %t", step.to, r.armed, step.watched)
		}
		r.idle()
		if r.whole() != step.watched || (kept.Load() > 0) != step.watched {
			t.Errorf("behind %d bytes: a buffer is kept: %t, %d in all; want it to be %t", step.to, r.whole(), kept.Load(), step.watched)
		}
	}
}
