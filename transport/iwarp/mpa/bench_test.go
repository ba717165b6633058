package mpa

import (
	"fmt"
	"hash/crc32"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
)

// benchPayloads are payload lengths of FPDUs in bytes: for an Ethernet TCP segment, for one of a
// jumbo frame, and the maximum.
var benchPayloads = []int{1444, 8944, 65504}

// eachFraming runs bench with each of the lengths, without CRC and with.
func eachFraming(b *testing.B, bench func(b *testing.B, payload int, crc bool)) {
	for _, n := range benchPayloads {
		for _, crc := range []bool{false, true} {
			name := fmt.Sprintf("%d/CRC off", n)
			if crc {
				name = fmt.Sprintf("%d/CRC on", n)
			}
			b.Run(name, func(b *testing.B) { bench(b, n, crc) })
		}
	}
}

// BenchmarkFrame puts FPDUs together, up to the system call.
func BenchmarkFrame(b *testing.B) {
	eachFraming(b, func(b *testing.B, payload int, crc bool) {
		header := make([]byte, ddp.TaggedLen)
		list := listOf(make([]byte, payload))
		batch := newBatch()
		defer func() { batch.release() }()
		b.SetBytes(int64(payload))
		b.ReportAllocs()
		for b.Loop() {
			p := ddp.Payload{List: list}
			if batch.add(header, &p, payload, 0, crc) {
				continue
			}
			batch.release()
			batch = newBatch()
			if !batch.add(header, &p, payload, 0, crc) {
				b.Fatal("an empty batch has no room")
			}
		}
	})
}

// tally is a Sink that counts segments.
type tally struct {
	modest
	n int
}

func (t *tally) Segment([]byte) error { t.n++; return nil }

// BenchmarkParse parses the bytes of one read.
func BenchmarkParse(b *testing.B) {
	eachFraming(b, func(b *testing.B, payload int, crc bool) {
		var fpdu []byte
		fpdu = appendFPDU(fpdu, make([]byte, ddp.TaggedLen+payload), crc)
		r := reader{crc: crc, buf: make([]byte, bufferSize)}
		fpdus := readSize / len(fpdu)
		for i := range fpdus {
			copy(r.buf[i*len(fpdu):], fpdu)
		}
		var got tally
		r.sink = &got
		b.SetBytes(int64(fpdus * payload))
		b.ReportAllocs()
		for b.Loop() {
			got.n, r.n = 0, fpdus*len(fpdu)
			if err := r.parse(&got); err != nil || got.n != fpdus {
				b.Fatalf("got %d segments, %v; want %d", got.n, err, fpdus)
			}
		}
	})
}

// BenchmarkCRC computes only the CRC, to compare the two with CRC against.
func BenchmarkCRC(b *testing.B) {
	for _, n := range benchPayloads {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			p := make([]byte, n)
			b.SetBytes(int64(n))
			b.ReportAllocs()
			for b.Loop() {
				crc32.Checksum(p, castagnoli)
			}
		})
	}
}
