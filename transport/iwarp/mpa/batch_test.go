package mpa

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/internal/capture"
)

func newBatch() *batch { return batches.Get().(*batch) }

// rest returns the unsent bytes, in order.
func (b *batch) rest() []byte { return slices.Concat(b.pieces[b.first:]...) }

// listOf wraps buffers as a scatter list.
func listOf(bufs ...[]byte) []transport.Slice {
	list := make([]transport.Slice, len(bufs))
	for i, b := range bufs {
		list[i].Bytes = b
	}
	return list
}

// pieces cuts p into pieces of n bytes.
func pieces(p []byte, n int) []transport.Slice { return listOf(slices.Collect(slices.Chunk(p, n))...) }

// addAll adds the FPDU of header and list, which must fit.
func addAll(t testing.TB, b *batch, header []byte, list []transport.Slice, owner transport.STag, crc bool) {
	t.Helper()
	p := ddp.Payload{List: list}
	n := transport.TotalLen(list)
	if !b.add(header, &p, n, owner, crc) {
		t.Fatalf("no room for %d bytes behind %d", n, b.size)
	}
	if left := transport.TotalLen(p.List) - p.Skip; left != 0 {
		t.Fatalf("%d bytes of the payload were not used", left)
	}
}

// diff fails the test, and shows the first difference, unless got is want.
func diff(t testing.TB, got, want []byte) {
	t.Helper()
	if bytes.Equal(got, want) {
		return
	}
	i := 0
	for i < min(len(got), len(want)) && got[i] == want[i] {
		i++
	}
	show := func(b []byte) []byte { return b[max(i-8, 0):min(i+24, len(b))] }
	t.Fatalf("got %d bytes, want %d; they differ from byte %d on: got % x, want % x", len(got), len(want), i, show(got), show(want))
}

// Every FPDU of the captures is encoded again from its ULPDU, as many as fit in a batch at a time.
// In one or two FPDUs of each capture, siw padded with old bytes of its buffer, against RFC 5044
// section 4.1; our padding is zero.
func TestBatchCaptures(t *testing.T) {
	for _, name := range capture.Names() {
		s := capture.Load(t, name)
		for side, stream := range map[string][]byte{"initiator": s.Initiator, "responder": s.Responder} {
			t.Run(name+", "+side, func(t *testing.T) {
				startup, fpdus := capture.Split(t, stream)
				b := newBatch()
				got, want := bytes.Clone(startup), bytes.Clone(startup)
				dirty := 0
				for _, f := range fpdus {
					if pad := f.Raw[lengthSize+len(f.ULPDU) : len(f.Raw)-crcSize]; bytes.Count(pad, []byte{0}) == len(pad) {
						want = append(want, f.Raw...)
					} else {
						dirty++
						want = appendFPDU(want, f.ULPDU, name == capture.CRC)
					}
					h, payload, err := ddp.Parse(f.ULPDU)
					if err != nil {
						t.Fatal(err)
					}
					header := f.ULPDU[:h.Len()]
					if p := (ddp.Payload{List: pieces(payload, 600)}); !b.add(header, &p, len(payload), 1, name == capture.CRC) {
						got = append(got, b.rest()...)
						b = newBatch()
						addAll(t, b, header, pieces(payload, 600), 1, name == capture.CRC)
					}
				}
				got = append(got, b.rest()...)
				diff(t, got, want)
				if side == "initiator" && dirty > 0 || dirty > 2 {
					t.Errorf("%d FPDUs have padding that is not zero", dirty)
				}
			})
		}
	}
}

// All sizes near a boundary, alone and behind another FPDU, with scatter lists of every kind.
func TestBatchSizes(t *testing.T) {
	var sizes []int
	for _, r := range [][2]int{{14, 80}, {1020, 1060}, {1438, 1446}, {2040, 2080}, {65520, 65535}} {
		for n := r[0]; n <= r[1]; n++ {
			sizes = append(sizes, n)
		}
	}
	lists := []struct {
		name string
		cut  func([]byte) []transport.Slice
	}{
		{"one piece", func(p []byte) []transport.Slice { return listOf(p) }},
		{"empty pieces", func(p []byte) []transport.Slice { return listOf(nil, p[:len(p)/2], nil, []byte{}, p[len(p)/2:], nil) }},
		{"pieces of 3", func(p []byte) []transport.Slice { return pieces(p, 3) }},
		{"as large as is copied", func(p []byte) []transport.Slice { return pieces(p, 1024) }},
		{"too large to be copied", func(p []byte) []transport.Slice { return pieces(p, 1025) }},
		{"large, then small", func(p []byte) []transport.Slice {
			n := len(p) - min(len(p), 5)
			return append(listOf(p[:n]), pieces(p[n:], 1)...)
		}},
	}
	for _, list := range lists {
		for _, crc := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, CRC %t", list.name, crc), func(t *testing.T) {
				for i, size := range sizes {
					ulpdu := text(size, i)
					const header = ddp.TaggedLen
					b := newBatch()
					want := appendFPDU(nil, ulpdu[:20%size], crc)
					addAll(t, b, ulpdu[:20%size], nil, 0, crc)
					for owner := range transport.STag(2) {
						addAll(t, b, ulpdu[:header], list.cut(ulpdu[header:]), owner, crc)
						want = appendFPDU(want, ulpdu, crc)
					}
					diff(t, b.rest(), want)
					if b.size != len(want) || b.empty() {
						t.Fatalf("got size %d, empty %t, want %d bytes", b.size, b.empty(), len(want))
					}
				}
			})
		}
	}
}

// A segment takes its part of the message's scatter list, and leaves the rest for the next one.
func TestBatchTakesItsPart(t *testing.T) {
	message := text(10000, 0)
	p := ddp.Payload{List: pieces(message, 7)}
	b := newBatch()
	var want []byte
	for n := 0; len(message) > 0; n++ {
		k := min(n*13%2000, len(message))
		if !b.add([]byte("fourteen bytes"), &p, k, 0, true) {
			t.Fatal("no room")
		}
		want = appendFPDU(want, append([]byte("fourteen bytes"), message[:k]...), true)
		message = message[k:]
	}
	diff(t, b.rest(), want)
}

// A batch gets full as it should, and a segment that does not fit leaves no trace.
func TestBatchFull(t *testing.T) {
	header := []byte("fourteen bytes")
	for _, tt := range []struct {
		name     string
		list     []transport.Slice
		crc      bool
		min, max int // FPDUs
	}{
		{"by bytes", listOf(text(64000, 0)), false, 18, 18},
		{"by pieces", listOf(text(1025, 0)), false, 480, 480},
		{"by the arena", nil, false, 13300, 13516},
		{"by the arena, with payload", listOf(text(1000, 0)), false, 262, 265},
		{"by copies for the CRC", listOf(text(65504, 0)), true, 4, 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBatch()
			n := 0
			for ; ; n++ {
				p := ddp.Payload{List: tt.list}
				if b.add(header, &p, transport.TotalLen(tt.list), 1, tt.crc) {
					continue
				}
				if len(p.List) != len(tt.list) || p.Skip != 0 {
					t.Error("the payload that did not fit was used")
				}
				break
			}
			if n < tt.min || n > tt.max {
				t.Errorf("got %d FPDUs, want %d to %d", n, tt.min, tt.max)
			}
			one := appendFPDU(nil, append(bytes.Clone(header), gather(tt.list)...), tt.crc)
			diff(t, b.rest(), bytes.Repeat(one, n))
			if cap(b.arena) != arenaSize {
				t.Errorf("got an arena of %d bytes, want %d", cap(b.arena), arenaSize)
			}
		})
	}
}

func gather(list []transport.Slice) (all []byte) {
	for _, s := range list {
		all = append(all, s.Bytes...)
	}
	return all
}

// The CRC is that of the bytes sent, even if memory that the peer may write to changes meanwhile.
// Other memory may not change, and is sent without a copy.
func TestBatchChangesBeforeItIsSent(t *testing.T) {
	header := []byte("fourteen bytes")
	for owner := range transport.STag(2) {
		b := newBatch()
		mem := text(5000, 0)
		want := appendFPDU(nil, append(header[:14:14], mem...), true)
		addAll(t, b, header, listOf(mem[:3000], mem[3000:]), owner, true)
		clear(mem)
		kept := owner != 0
		if got := b.rest(); bytes.Equal(got, want) != kept {
			t.Errorf("owner %d: the FPDU has changed: %t, want %t", owner, kept, !kept)
		}
		b.release()
	}
}

// A scatter list of very many pieces, with an empty arena, and with one that cannot take all of
// them.
func TestBatchManyPieces(t *testing.T) {
	const n = 60000
	header := []byte("fourteen bytes")
	for _, before := range []int{0, 50000, 250000, arenaSize - 3000} {
		t.Run(fmt.Sprint(before), func(t *testing.T) {
			b := newBatch()
			var want []byte
			for filler := text(1000, 0); len(b.arena) < before; {
				addAll(t, b, header, listOf(filler), 0, false)
				want = appendFPDU(want, append(bytes.Clone(header), filler...), false)
			}
			payload := text(n, 1)
			p := ddp.Payload{List: pieces(payload, 1)}
			if !b.add(header, &p, n, 0, false) {
				t.Fatal("no room")
			}
			want = appendFPDU(want, append(header[:14:14], payload...), false)
			diff(t, b.rest(), want)
		})
	}
}

// mixed returns a batch with copied pieces and with pieces that it refers to, under two names, and
// the sources.
func mixed(t testing.TB) (b *batch, sources [3][]byte) {
	b = newBatch()
	for i := range sources {
		sources[i] = text(1030, i)
	}
	for i, owner := range []transport.STag{0, 1, 2, 1, 0} {
		src := sources[owner]
		addAll(t, b, text(14+4*(i%2), i), listOf(src[:1027-i], nil, src[1027-i:]), owner, false)
	}
	return b, sources
}

// mixedFPDUs is the encoding of that batch, with the ends of the FPDUs.
func mixedFPDUs() (all []byte, ends []int) {
	for i, owner := range []int{0, 1, 2, 1, 0} {
		all = appendFPDU(all, append(text(14+4*(i%2), i), text(1030, owner)...), false)
		ends = append(ends, len(all))
	}
	return all, ends
}

// Detach after k sent bytes, for every k: payload under that name may then change without effect;
// payload under other names still has an effect.
func TestDetachAfter(t *testing.T) {
	want, _ := mixedFPDUs()
	for k := range want {
		b, sources := mixed(t)
		b.advance(k)
		b.detach(1)
		clear(sources[1])
		diff(t, b.rest(), want[k:])
		if b.size-b.sent != len(want)-k {
			t.Fatalf("%d bytes are left, want %d", b.size-b.sent, len(want)-k)
		}
		clear(sources[0])
		clear(sources[2])
		if k < 3000 && bytes.Equal(b.rest(), want[k:]) {
			t.Fatalf("%d bytes have left: all sources were copied", k)
		}
		b.release()
	}
}

// Cut after k sent bytes, for every k: the rest of a partly sent FPDU stays, as a copy, however
// often Cut is called, and others may follow it.
func TestCutAfter(t *testing.T) {
	whole, ends := mixedFPDUs()
	header := []byte("fourteen bytes")
	words := appendFPDU(nil, append(header[:14:14], "last words"...), true)
	for k := range whole {
		for _, peerGone := range []bool{false, true} {
			b, sources := mixed(t)
			b.advance(k)
			end := 0
			for _, e := range ends {
				if end < k {
					end = e
				}
			}
			want := whole[k:end]
			if peerGone {
				want = nil
			}
			b.cut(peerGone)
			for _, s := range sources {
				clear(s)
			}
			b.cut(peerGone)
			if len(want) > 1 {
				b.advance(1)
				want = want[1:]
				b.cut(peerGone)
			}
			diff(t, b.rest(), want)
			if b.empty() != (len(want) == 0) {
				t.Fatalf("%d bytes have left, %d are to go: empty is %t", k, len(want), b.empty())
			}
			addAll(t, b, header, listOf([]byte("last words")), 0, true)
			diff(t, b.rest(), append(bytes.Clone(want), words...))
			b.advance(len(want) + 1)
			b.cut(false)
			diff(t, b.rest(), words[1:])
			b.release()
		}
	}
}

// Bytes are sent in runs of every length.
func TestAdvance(t *testing.T) {
	want, _ := mixedFPDUs()
	for _, n := range []int{1, 2, 13, 14, 1000, 1030, 1031, 4000} {
		b, _ := mixed(t)
		for at := 0; at < len(want); {
			k := min(n, len(want)-at)
			b.advance(k)
			at += k
			diff(t, b.rest(), want[at:])
			if b.empty() != (at == len(want)) {
				t.Fatalf("%d of %d bytes have left: empty is %t", at, len(want), b.empty())
			}
		}
	}
}

// A batch from the pool is like a new one, and refers to no memory.
func TestReleased(t *testing.T) {
	b, _ := mixed(t)
	used := b.pieces
	b.advance(1500)
	b.release()
	if b.size != 0 || b.sent != 0 || b.first != 0 || b.open || len(b.arena)+len(b.pieces)+len(b.owners)+len(b.ends) != 0 {
		t.Errorf("got %+v, want nothing in it", b)
	}
	for i, p := range used[:cap(used)] {
		if p != nil {
			t.Fatalf("piece %d is kept", i)
		}
	}
}
