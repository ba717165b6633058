package ddp

import (
	"fmt"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

var benchHeaders = []struct {
	name   string
	header Header
}{
	{"tagged", Header{Tagged: true, Last: true, Version: Version, Control: 0x40, STag: 7, Offset: 1 << 40}},
	{"untagged", Header{Last: true, Version: Version, Control: 0x43, Queue: QueueSend, MSN: 1}},
}

func BenchmarkAppend(b *testing.B) {
	for _, bb := range benchHeaders {
		b.Run(bb.name, func(b *testing.B) {
			p := make([]byte, 0, UntaggedLen)
			b.ReportAllocs()
			for b.Loop() {
				p = bb.header.Append(p[:0])
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	for _, bb := range benchHeaders {
		b.Run(bb.name, func(b *testing.B) {
			p := append(bb.header.Append(nil), "payload"...)
			b.ReportAllocs()
			for b.Loop() {
				if h, _, err := Parse(p); err != nil || h != bb.header {
					b.Fatalf("got %+v, %v; want %+v", h, err, bb.header)
				}
			}
		})
	}
}

// BenchmarkSegments cuts a Write of 1 MiB, in pages of 4 KiB, into segments: headers, and the runs
// of memory that they refer to.
func BenchmarkSegments(b *testing.B) {
	list := make([]transport.Slice, 256)
	for i := range list {
		list[i].Bytes = make([]byte, 4096)
	}
	total := transport.TotalLen(list)
	for _, size := range []int{1444, 8944, 65504} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			header := make([]byte, 0, TaggedLen)
			b.ReportAllocs()
			for b.Loop() {
				p := Payload{List: list}
				h := Header{Tagged: true, Version: Version, STag: 7}
				for left := total; left > 0; {
					n := min(left, size)
					left -= n
					h.Last = left == 0
					header = h.Append(header[:0])
					h.Offset += uint64(n)
					for n > 0 {
						n -= len(p.Next(n))
					}
				}
			}
		})
	}
}
