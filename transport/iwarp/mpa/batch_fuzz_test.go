package mpa

import (
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
)

// FuzzBatch reads from its input what to do with a batch, and compares the bytes sent with a plain
// encoding. With markers, the stream begins at any position that an FPDU can have, and continues
// from batch to batch.
func FuzzBatch(f *testing.F) {
	f.Add([]byte{0, 0, 9, 1, 5, 0, 200, 1, 40, 1, 100, 3, 0, 1, 10, 2, 1, 255, 1, 255}, true, false, uint16(0))
	f.Add([]byte{0, 0, 9, 1, 5, 0, 200, 1, 40, 1, 100, 3, 0, 1, 10, 2, 1, 255, 1, 255}, true, true, uint16(0))
	f.Add([]byte{0, 255, 200, 255, 0, 1, 17, 9, 2, 0, 0, 0, 14, 2, 1, 77, 3, 0, 2, 5}, false, false, uint16(0))
	f.Add([]byte{0, 255, 200, 255, 0, 1, 17, 9, 2, 0, 0, 0, 14, 2, 1, 77, 3, 0, 2, 5}, false, true, uint16(0))
	f.Add([]byte{0, 1, 8, 2, 255, 255, 0, 2, 6, 1, 200, 1, 9, 9, 3, 1, 3, 2, 1, 3, 3, 3, 1, 0, 0, 2, 1, 12, 2, 1, 1, 255, 255}, true, false, uint16(0))
	f.Add([]byte{0, 1, 8, 2, 255, 255, 0, 2, 6, 1, 200, 1, 9, 9, 3, 1, 3, 2, 1, 3, 3, 3, 1, 0, 0, 2, 1, 12, 2, 1, 1, 255, 255}, true, true, uint16(0))
	f.Fuzz(func(t *testing.T, in []byte, crc, markers bool, position uint16) {
		next := func() int {
			if len(in) == 0 {
				return 0
			}
			b := in[0]
			in = in[1:]
			return int(b)
		}
		b := newBatch()
		b.base = 4 * int(position)
		defer func() { b.release() }()
		s := &markedStream{base: b.base} // everything added so far
		var ends []int                   // of the FPDUs in it
		gone := 0                        // bytes of it that have been sent
		var sources [3][][]byte
		for steps := 0; len(in) > 0 && steps < 60; steps++ {
			switch next() % 4 {
			case 0: // a segment
				owner, seed := next()%3, next()
				header := text(14+4*(seed%2), seed)
				ulpdu := header[:len(header):len(header)]
				var list []transport.Slice
				for range next() % 16 {
					piece := text(next()*(1+seed%9), len(ulpdu))
					list = append(list, transport.Slice{Bytes: piece})
					sources[owner] = append(sources[owner], piece)
					ulpdu = append(ulpdu, piece...)
				}
				p := ddp.Payload{List: list}
				var added bool
				if markers {
					added = b.addMarked(header, &p, len(ulpdu)-len(header), crc)
				} else {
					added = b.add(header, &p, len(ulpdu)-len(header), transport.STag(owner), crc)
				}
				switch {
				case !added && b.size < arenaSize-maxMarked:
					t.Fatalf("full with %d bytes", b.size)
				case added && markers:
					s.fpdu(ulpdu, crc)
				case added:
					s.out = appendFPDU(s.out, ulpdu, crc)
				}
				ends = append(ends, len(s.out))
			case 1: // some bytes leave
				k := min(next()*next(), len(s.out)-gone)
				b.advance(k)
				gone += k
			case 2: // an owner wants some of the memory back
				owner := 1 + next()%2
				b.detach(transport.STag(owner))
				for _, mem := range sources[owner] {
					clear(mem)
				}
				sources[owner] = nil
			case 3:
				peerGone := next()%4 == 0
				b.cut(peerGone)
				end := 0
				for len(ends) > 0 && end < gone {
					end, ends = ends[0], ends[1:]
				}
				if peerGone {
					end = gone
				}
				s.out, ends = s.out[:end], []int{end}
				if peerGone && markers { // no data follows that could be in the middle of a word
					diff(t, b.rest(), nil)
					return
				}
				for _, list := range sources {
					for _, mem := range list {
						clear(mem)
					}
				}
			}
			diff(t, b.rest(), s.out[gone:])
			if b.empty() != (gone == len(s.out)) || markers && b.position() != s.pos() {
				t.Fatalf("%d of %d bytes have left: empty is %t, at %d, want %d", gone, len(s.out), b.empty(), b.position(), s.pos())
			}
			if b.empty() {
				b.release()
				b = newBatch()
				s = &markedStream{base: s.pos()}
				b.base = s.base
				ends, gone = nil, 0
			}
		}
	})
}
