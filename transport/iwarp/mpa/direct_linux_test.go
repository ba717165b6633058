//go:build !mpaportable

package mpa

import (
	"bytes"
	"io"
	"testing"

	"pgregory.net/rapid"
)

// placer is a collector that lends memory, in pieces.
type placer struct {
	collector
	piece int // length of all pieces except the last
	// The loans to refuse, counted from the end of the stream: 0 none, otherwise one in every
	// refuse.
	refuse  int
	asked   int  // loans asked for
	lent    bool // lent and not returned
	begun   bool // the current segment has memory, maybe before any of its payload
	partial bool // a loan for the current segment was refused
	memory  []byte
	placed  int // segments
	dropped int // segments for which a loan was refused
}

func (p *placer) Lend(dst [][]byte, header []byte, n, skip int) ([][]byte, bool) {
	if p.lent {
		panic("lent twice")
	}
	p.asked++
	if p.refuse > 0 && p.asked%p.refuse == 0 {
		p.partial = p.partial || p.begun
		return dst, false
	}
	p.begun = true
	if skip == 0 {
		p.memory = make([]byte, n)
	}
	for at := skip; at < n; {
		k := min(p.piece, n-at)
		dst = append(dst, p.memory[at:at+k:at+k])
		at += k
	}
	p.lent = true
	return dst, true
}

func (p *placer) Return() {
	if !p.lent {
		panic("returned twice")
	}
	p.lent = false
}

// Segment gets the segments that went through the buffer, and Placed the others.
func (p *placer) Segment(segment []byte) error {
	p.begun, p.partial = false, false
	return p.collector.Segment(segment)
}

func (p *placer) Placed(header []byte, n int) error {
	p.placed++
	if p.partial {
		p.dropped++
		return p.Segment(append(bytes.Clone(header), make([]byte, n)...))
	}
	return p.Segment(append(bytes.Clone(header), p.memory[:n]...))
}

// taggedStream is streamOf with the large segments tagged.
func taggedStream(crc bool, sizes ...int) (ulpdus [][]byte, stream []byte) {
	for i, n := range sizes {
		u := text(n, i)
		u[0] &^= 0x80
		if n > directFrom {
			u[0] |= 0x80
		}
		ulpdus = append(ulpdus, u)
		stream = appendFPDU(stream, u, crc)
	}
	return ulpdus, stream
}

// Segments of all sizes arrive in parts of all sizes and are read into place. Some loans are
// refused or withdrawn.
func TestReceiveDirect(t *testing.T) {
	placed, dropped := 0, 0
	rapid.Check(t, func(r *rapid.T) {
		size := rapid.OneOf(rapid.IntRange(14, 200), rapid.IntRange(directFrom, directFrom+100), rapid.IntRange(65400, 65535))
		ulpdus, stream := taggedStream(false, rapid.SliceOfN(size, 1, 12).Draw(r, "sizes")...)
		part := rapid.OneOf(rapid.IntRange(1, 40), rapid.IntRange(1, 20000), rapid.IntRange(1, 200000))
		c, peer := newConn(r, ConnOptions{})
		defer peer.Close()
		defer c.Close(false)
		got := &placer{
			piece:  rapid.SampledFrom([]int{1 << 20, 4096, 100, 7}).Draw(r, "piece"),
			refuse: rapid.SampledFrom([]int{0, 0, 2, 3}).Draw(r, "refuse"),
		}
		for at := 0; at < len(stream); {
			k := min(part.Draw(r, "part"), len(stream)-at, 60000)
			write(t, peer, stream[at:at+k])
			at += k
			for got.bytes+c.in.pending() < at {
				if err := c.Receive(got); err != nil {
					r.Fatalf("behind %d bytes of %d: %v", got.bytes+c.in.pending(), at, err)
				}
			}
		}
		hangUp(t, peer, nil)
		if err := receiveAll(c, got); err != io.EOF {
			r.Errorf("got error %v, want %v", err, io.EOF)
		}
		if got.lent {
			r.Error("a loan was not returned")
		}
		if got.dropped == 0 {
			if d := diffULPDUs(ulpdus, got.ulpdus); d != "" {
				r.Errorf("ULPDUs (-want +got):\n%s", d)
			}
		} else if len(got.ulpdus) != len(ulpdus) {
			r.Errorf("got %d segments, want %d", len(got.ulpdus), len(ulpdus))
		}
		placed, dropped = placed+got.placed, dropped+got.dropped
	})
	if placed == 0 || dropped == 0 {
		t.Errorf("%d segments were placed, %d dropped: nothing was tested", placed, dropped)
	}
}

// A stream ends, or breaks the protocol, in the middle of a segment that is read into place.
func TestDirectCut(t *testing.T) {
	_, stream := taggedStream(false, 40000)
	for _, n := range []int{16 + 1000, 2 + 40000, len(stream) - 1} {
		c, peer := newConn(t, ConnOptions{})
		got := &placer{piece: 1 << 20}
		hangUp(t, peer, stream[:n])
		if err := receiveAll(c, got); err != io.ErrUnexpectedEOF {
			t.Errorf("%d bytes: got error %v, want %v", n, err, io.ErrUnexpectedEOF)
		}
		if got.placed != 0 || got.lent {
			t.Errorf("%d bytes: got %d segments placed, and memory lent: %t", n, got.placed, got.lent)
		}
	}
}

// Segments that must be checked or moved first are not read into place: those with CRC or markers,
// and untagged ones.
func TestNotDirect(t *testing.T) {
	ulpdus, checked := taggedStream(true, 60000)
	var marked markedStream
	marked.fpdu(ulpdus[0], false)
	untagged, other := streamOf(false, 60000)
	for _, tt := range []struct {
		name   string
		o      ConnOptions
		stream []byte
		want   [][]byte
	}{
		{"CRC", ConnOptions{CRC: true}, checked, ulpdus},
		{"markers", ConnOptions{MarkersIn: true}, marked.out, ulpdus},
		{"untagged", ConnOptions{}, other, untagged},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, peer := newConn(t, tt.o)
			got := &placer{piece: 1 << 20}
			write(t, peer, tt.stream[:1000])
			if err := c.Receive(got); err != nil {
				t.Fatal(err)
			}
			go hangUp(t, peer, tt.stream[1000:])
			if err := receiveAll(c, got); err != io.EOF {
				t.Errorf("got error %v, want %v", err, io.EOF)
			}
			if got.placed != 0 {
				t.Errorf("got %d segments placed, want none", got.placed)
			}
			if d := diffULPDUs(tt.want, got.ulpdus); d != "" {
				t.Errorf("ULPDUs (-want +got):\n%s", d)
			}
		})
	}
}

// A connection that waits in the middle of such a segment has no buffer, and notices a peer that
// stops there.
func TestDirectWaits(t *testing.T) {
	ulpdus, stream := taggedStream(false, 60000)
	c, peer := newConn(t, ConnOptions{})
	got := &placer{piece: 1 << 20}
	write(t, peer, stream[:1000])
	for c.in.pending() < 1000 {
		if err := c.Receive(got); err != nil {
			t.Fatal(err)
		}
	}
	look(t, c)
	if !c.in.aside || c.in.buf != nil {
		t.Errorf("got a segment under way %t, a buffer %t", c.in.aside, c.in.buf != nil)
	}
	if !c.in.armed {
		t.Error("the stall watch does not run")
	}
	go hangUp(t, peer, stream[1000:])
	if err := receiveAll(c, got); err != io.EOF {
		t.Errorf("got error %v, want %v", err, io.EOF)
	}
	if d := diffULPDUs(ulpdus, got.ulpdus); d != "" || got.placed != 1 {
		t.Errorf("%d placed; ULPDUs (-want +got):\n%s", got.placed, d)
	}
}
