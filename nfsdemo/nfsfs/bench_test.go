package nfsfs_test

import (
	"io"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsfs"
)

// zeros is a Reader of n bytes.
type zeros struct{ n int64 }

func (z *zeros) Read(p []byte) (int, error) {
	if z.n == 0 {
		return 0, io.EOF
	}
	n := int(min(int64(len(p)), z.n))
	z.n -= int64(n)
	return n, nil
}

// BenchmarkFile copies a file up and down.
func BenchmarkFile(b *testing.B) {
	const n = 128 << 20
	for _, name := range []string{"chunked", "loopback", "iwarp", "tcp"} {
		f := mount(b, transports[name](b, server(b, nil)), 0, nfsfs.Config{})
		o := must(f.Create(b.Context(), "file"))(b)
		b.Run("ReadFrom/"+name, func(b *testing.B) {
			b.SetBytes(n)
			b.ReportAllocs()
			for b.Loop() {
				must(o.Seek(0, io.SeekStart))(b)
				must(o.ReadFrom(&zeros{n}))(b)
				ok(b, o.Sync())
			}
		})
		b.Run("WriteTo/"+name, func(b *testing.B) {
			b.SetBytes(n)
			b.ReportAllocs()
			for b.Loop() {
				must(o.Seek(0, io.SeekStart))(b)
				must(o.WriteTo(io.Discard))(b)
			}
		})
		ok(b, o.Close())
	}
}
