package mpa

import (
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
)

// FuzzBatch reads from its input what to do with a batch, and compares what leaves it with a plain encoding.
func FuzzBatch(f *testing.F) {
	f.Add([]byte{0, 0, 9, 1, 5, 0, 200, 1, 40, 1, 100, 3, 0, 1, 10, 2, 1, 255, 1, 255}, true)
	f.Add([]byte{0, 255, 200, 255, 0, 1, 17, 9, 2, 0, 0, 0, 14, 2, 1, 77, 3, 0, 2, 5}, false)
	f.Add([]byte{0, 1, 8, 2, 255, 255, 0, 2, 6, 1, 200, 1, 9, 9, 3, 1, 3, 2, 1, 3, 3, 3, 1, 0, 0, 2, 1, 12, 2, 1, 1, 255, 255}, true)
	f.Fuzz(func(t *testing.T, in []byte, crc bool) {
		next := func() int {
			if len(in) == 0 {
				return 0
			}
			b := in[0]
			in = in[1:]
			return int(b)
		}
		b := newBatch()
		defer func() { b.release() }()
		var stream []byte // all that was added
		var ends []int    // of the FPDUs in it
		gone := 0         // what has left of it
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
				if !b.add(header, &p, len(ulpdu)-len(header), transport.STag(owner), crc) {
					if b.size < arenaSize-maxULPDU {
						t.Fatalf("full with %d bytes", b.size)
					}
					break
				}
				stream = appendFPDU(stream, ulpdu, crc)
				ends = append(ends, len(stream))
			case 1: // some bytes leave
				k := min(next()*next(), len(stream)-gone)
				b.advance(k)
				gone += k
			case 2: // the owner of some of the memory wants it back
				owner := 1 + next()%2
				b.detach(transport.STag(owner))
				for _, s := range sources[owner] {
					clear(s)
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
				stream, ends = stream[:end], []int{end}
				for _, list := range sources {
					for _, s := range list {
						clear(s)
					}
				}
			}
			diff(t, b.rest(), stream[gone:])
			if b.empty() != (gone == len(stream)) {
				t.Fatalf("%d of %d bytes have left: empty is %t", gone, len(stream), b.empty())
			}
			if b.empty() {
				b.release()
				b = newBatch()
				stream, ends, gone = nil, nil, 0
			}
		}
	})
}
