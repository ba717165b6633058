package iwarp_test

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"net"
	"testing"
)

// A stream with markers has one of markerLen bytes at its beginning, and at each multiple of
// markerEvery from there (RFC 5044 section 4.3).
const (
	markerLen   = 4
	markerEvery = 512
)

// walk follows a stream of FPDUs byte by byte. Markers do not count.
type walk struct {
	n     int // bytes of the FPDU so far
	ulpdu int // length of the ULPDU, once n is 2

	plain, marked []byte // what the CRC covers so far, without and with the markers
}

// step takes the next byte. The CRC covers it, unless it belongs to the CRC.
func (w *walk) step(b byte) {
	switch {
	case w.n == 0:
		w.ulpdu = int(b) << 8
	case w.n == 1:
		w.ulpdu |= int(b)
	}
	if !w.inCRC() {
		w.plain, w.marked = append(w.plain, b), append(w.marked, b)
	}
	if w.n++; w.inCRC() && w.n == w.covered()+4 {
		*w = walk{}
	}
}

// covered returns how many bytes of the FPDU the CRC covers: length, ULPDU, and padding.
func (w *walk) covered() int { return (2 + w.ulpdu + 3) / 4 * 4 }

// inCRC reports whether the next byte is one of the CRC.
func (w *walk) inCRC() bool { return w.n >= 2 && w.n >= w.covered() }

// sums returns the next byte of the FPDU's CRC, computed without and with its markers.
func (w *walk) sums() (plain, marked byte) {
	shift, table := 8*(w.n-w.covered()), crc32.MakeTable(crc32.Castagnoli)
	return byte(crc32.Checksum(w.plain, table) >> shift), byte(crc32.Checksum(w.marked, table) >> shift)
}

// marking puts markers into a stream of FPDUs, and computes the CRCs again, if there are any.
type marking struct {
	walk
	crc   bool
	pos   int // position of the next byte in the stream
	start int // position of the FPDU's length field
}

func (m *marking) add(stream []byte) (marked []byte) {
	for _, b := range stream {
		if m.pos%markerEvery == 0 {
			to := 0
			if m.n > 0 {
				to = m.pos - m.start
			}
			marker := []byte{0, 0, byte(to >> 8), byte(to)}
			marked = append(marked, marker...)
			m.marked = append(m.marked, marker...)
			m.pos += markerLen
		}
		if m.n == 0 {
			m.start = m.pos
		}
		if m.crc && m.inCRC() {
			_, b = m.sums()
		}
		m.step(b)
		marked = append(marked, b)
		m.pos++
	}
	return marked
}

// unmarking removes the markers from a stream of FPDUs, and puts the CRC without markers there, if
// there is one.
type unmarking struct {
	walk
	crc    bool
	pos    int
	start  int
	marker []byte // received part of a marker
}

// add fails if a marker is wrong, or the CRC with markers.
func (u *unmarking) add(stream []byte) (plain []byte, err error) {
	for _, b := range stream {
		if at := u.pos % markerEvery; at < markerLen {
			if u.marker = append(u.marker, b); len(u.marker) == markerLen {
				to := 0
				if u.n > 0 {
					to = u.pos - at - u.start
				}
				if want := []byte{0, 0, byte(to >> 8), byte(to)}; !bytes.Equal(u.marker, want) {
					return nil, fmt.Errorf("marker at %d is % x, want % x", u.pos-at, u.marker, want)
				}
				u.marked = append(u.marked, u.marker...)
				u.marker = nil
			}
			u.pos++
			continue
		}
		if u.n == 0 {
			u.start = u.pos
		}
		if u.crc && u.inCRC() {
			without, with := u.sums()
			if b != with {
				return nil, fmt.Errorf("byte %d, of a CRC, is %#02x, want %#02x", u.pos, b, with)
			}
			b = without
		}
		u.step(b)
		plain = append(plain, b)
		u.pos++
	}
	return plain, nil
}

// markedConn is a connection with markers in both directions after the startup frames, for a user
// without markers.
type markedConn struct {
	*net.TCPConn
	out     marking
	in      unmarking
	skipOut int // bytes of the startup frame that remain to be written, and read
	skipIn  int
}

func (c *markedConn) Write(b []byte) (int, error) {
	n := min(c.skipOut, len(b))
	c.skipOut -= n
	marked := append(bytes.Clone(b[:n]), c.out.add(b[n:])...)
	if _, err := c.TCPConn.Write(marked); err != nil {
		return 0, err
	}
	return len(b), nil
}

func (c *markedConn) Read(b []byte) (int, error) {
	for {
		n, err := c.TCPConn.Read(b)
		skip := min(c.skipIn, n)
		c.skipIn -= skip
		plain, bad := c.in.add(b[skip:n])
		if bad != nil {
			return 0, bad
		}
		if n = skip + copy(b[skip:], plain); n > 0 || err != nil || len(b) == 0 {
			return n, err
		}
	}
}

// TestMarking tests these markers: a short stream byte by byte, and random ones there and back.
func TestMarking(t *testing.T) {
	p := &peer{t: t}
	// 504 bytes, 36 bytes
	first, second := p.frame(make([]byte, 498)), p.frame([]byte("four and twenty bytes of it"))
	m := marking{}
	got := m.add(append(bytes.Clone(first), second...))
	// The second begins 4 bytes before the marker at 512.
	want := append([]byte{0, 0, 0, 0}, first...)
	want = append(want, second[:4]...)
	want = append(want, 0, 0, 0, 4)
	want = append(want, second[4:]...)
	if !bytes.Equal(got, want) {
		t.Errorf("got % x, want % x", got, want)
	}

	rng := newRand(t)
	for range 50 {
		crc := rng.IntN(2) == 1
		p := &peer{t: t, crc: crc}
		var stream []byte
		for range 1 + rng.IntN(20) {
			stream = append(stream, p.frame(make([]byte, 14+rng.IntN(2000)))...)
		}
		m, u := marking{crc: crc}, unmarking{crc: crc}
		marked := inPieces(rng, stream, m.add)
		if want := len(stream) + (len(marked)+markerEvery-1)/markerEvery*markerLen; len(marked) != want {
			t.Errorf("%d bytes with markers, want %d", len(marked), want)
		}
		got := inPieces(rng, marked, func(b []byte) []byte {
			plain, err := u.add(b)
			if err != nil {
				t.Error(err)
			}
			return plain
		})
		if !bytes.Equal(got, stream) {
			t.Errorf("a stream of %d bytes has changed on its way", len(stream))
		}
		marked[rng.IntN((len(marked)+markerEvery-1)/markerEvery)*markerEvery+3] ^= 4
		if _, err := (&unmarking{crc: crc}).add(marked); err == nil {
			t.Error("a marker has been changed, want an error")
		}
	}
}

// inPieces gives f a stream in random pieces.
func inPieces(rng *rand.Rand, stream []byte, f func([]byte) []byte) (out []byte) {
	for r := bytes.NewReader(stream); r.Len() > 0; {
		b := make([]byte, 1+rng.IntN(1000))
		n, _ := io.ReadFull(r, b)
		out = append(out, f(b[:n])...)
	}
	return out
}
