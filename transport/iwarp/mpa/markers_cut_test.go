package mpa

import (
	"bytes"
	"net"
	"testing"
)

// cutStream is a stream from position base on, its ULPDUs, and the ends of the FPDUs.
func cutStream(base int) (ulpdus [][]byte, ends []int, s *markedStream) {
	s = &markedStream{base: base}
	for i, n := range []int{494, 14, 700, 502, 100} {
		ulpdus = append(ulpdus, text(n, i))
		s.fpdu(ulpdus[i], true)
		ends = append(ends, len(s.out))
	}
	return ulpdus, ends, s
}

// Cut after k sent bytes, for every k: what follows has its markers at the right positions of the
// whole stream.
func TestCutMarkers(t *testing.T) {
	words := text(60, 9) // a Terminate
	for _, base := range []int{0, 512 - 44, 3 * 512, 1000} {
		ulpdus, ends, whole := cutStream(base)
		for k := range whole.out {
			b := markedBatch(t, base, true, ulpdus...)
			b.advance(k)
			end := 0
			for _, e := range ends {
				if end < k {
					end = e
				}
			}
			want := &markedStream{base: base, out: bytes.Clone(whole.out[:end])}
			b.cut(false)
			b.cut(false)
			diff(t, b.rest(), want.out[k:])
			if b.position() != want.pos() || b.empty() != (k == end) {
				t.Fatalf("behind %d bytes: got position %d, empty %t, want %d, %t", k, b.position(), b.empty(), want.pos(), k == end)
			}
			if k < end { // some of the rest is sent, and there is another cut
				b.advance(1)
				b.cut(false)
				if b.position() != want.pos() {
					t.Fatalf("behind %d bytes, after another cut: got position %d, want %d", k+1, b.position(), want.pos())
				}
			}
			sent := k + min(1, end-k)
			for _, u := range [][]byte{words, text(800, 10)} {
				addMarked(t, b, u, true)
				want.fpdu(u, true)
			}
			diff(t, b.rest(), want.out[sent:])
			b.release()
		}
	}
}

// Nothing is sent to a peer that is gone, not even the rest of an FPDU.
func TestCutAllMarkers(t *testing.T) {
	ulpdus, _, whole := cutStream(0)
	for k := range whole.out {
		b := markedBatch(t, 0, true, ulpdus...)
		b.advance(k)
		b.cut(true)
		if !b.empty() || len(b.rest()) > 0 || b.position() != k {
			t.Fatalf("behind %d bytes: %d are left, at %d", k, len(b.rest()), b.position())
		}
		b.release()
	}
}

// closed closes both sides in order, and returns the bytes that the peer got.
func closed(t testing.TB, c *Conn, peer *net.TCPConn, all <-chan []byte) []byte {
	t.Helper()
	done := make(chan struct{})
	go func() {
		c.Close(true)
		close(done)
	}()
	b := Await(t, "the end of the stream", all)
	peer.Close()
	Await(t, "Close", done)
	return b
}

// On a full socket, a Terminate behind a cut is the last FPDU of a valid stream.
func TestCutUnderWayMarkers(t *testing.T) {
	for _, crc := range []bool{false, true} {
		o, peer := newOutbox(t, ConnOptions{CRC: crc, MarkersOut: true})
		fill(t, o)
		o.mu.Lock()
		waiting, least := len(o.out.batch.ends), 1
		if o.out.total > 0 {
			least = 2 // part of the first has been sent
		}
		o.Cut(false)
		o.mu.Unlock()
		all := drain(peer)
		words := text(60, 9)
		if err := o.add(words[:18], listOf(words[18:]), 0); err != nil {
			t.Fatal(err)
		}
		if err := o.send(); err != nil {
			t.Fatal(err)
		}
		got := unmarkAll(0, closed(t, o.Conn, peer, all), crc)
		if got.err != nil || len(got.covered) > 0 || len(got.ulpdus) < least {
			t.Fatalf("CRC %t: got %d ULPDUs, want %d or more, error %v, and %d bytes more", crc, len(got.ulpdus), least, got.err, len(got.covered))
		}
		if waiting < 2 {
			t.Errorf("CRC %t: there was nothing to drop: the test shows nothing", crc)
		}
		last := len(got.ulpdus) - 1
		diff(t, got.ulpdus[last], words)
		for i, u := range got.ulpdus[:last] {
			if len(u) != 60014 {
				t.Errorf("CRC %t: ULPDU %d has %d bytes, want 60014", crc, i, len(u))
			}
		}
	}
}

// A batch with markers refers to no payload: that may change as soon as it has been added, detached
// or not.
func TestDetachMarkers(t *testing.T) {
	for _, crc := range []bool{false, true} {
		o, peer := newOutbox(t, ConnOptions{CRC: crc, MarkersOut: true})
		want := &markedStream{}
		for i := range 3 {
			u := text(14+20000, i)
			want.fpdu(u, crc)
			if err := o.add(u[:14], listOf(u[14:]), 1); err != nil {
				t.Fatal(err)
			}
			clear(u)
			o.Detach(1)
			diff(t, o.out.batch.rest(), want.out)
		}
		all := drain(peer)
		if err := o.send(); err != nil {
			t.Fatal(err)
		}
		diff(t, closed(t, o.Conn, peer, all), want.out)
	}
}
