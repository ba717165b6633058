//go:build !race

// Under the race detector, sync.Pool drops items at random.

package nfsclient_test

import (
	"fmt"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/internal/pipe"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// allocsPerCall returns the allocations of a call after many others, because a server lets the
// memory of calls rest for a while before it is reused.
func allocsPerCall(call func()) float64 {
	for range 100 {
		call()
	}
	return testing.AllocsPerRun(100, call)
}

// TestAllocs: READ and WRITE do not allocate, in the client, the server and all layers between.
func TestAllocs(t *testing.T) {
	for _, mode := range []pipe.Mode{pipe.Inline, pipe.Chunked} {
		c, root := mounted(t, pipe.New(server(t), mode))
		ctx := t.Context()
		h := must(c.Create(ctx, root, "file", nfs3.CreateHow{}))(t).File
		for _, n := range []int{4 << 10, 1 << 20} {
			p := make([]byte, n)
			if allocs := allocsPerCall(func() {
				if _, err := c.Write(ctx, h, 0, p, nfs3.Unstable); err != nil {
					t.Fatal(err)
				}
			}); allocs != 0 {
				t.Errorf("%v: WRITE of %d bytes: %v allocations", mode, n, allocs)
			}
			if allocs := allocsPerCall(func() {
				if _, err := c.Read(ctx, h, 0, p); err != nil {
					t.Fatal(err)
				}
			}); allocs != 0 {
				t.Errorf("%v: READ of %d bytes: %v allocations", mode, n, allocs)
			}
		}
	}
}

func BenchmarkTCP(b *testing.B) {
	for _, n := range []int{4 << 10, 1 << 20} {
		c, root := mounted(b, transports["tcp"](b, server(b)))
		h := must(c.Create(b.Context(), root, "file", nfs3.CreateHow{}))(b).File
		p := make([]byte, n)
		b.Run(fmt.Sprint("WRITE/", n), func(b *testing.B) {
			b.SetBytes(int64(n))
			b.ReportAllocs()
			for b.Loop() {
				must(c.Write(b.Context(), h, 0, p, nfs3.Unstable))(b)
			}
		})
		b.Run(fmt.Sprint("READ/", n), func(b *testing.B) {
			b.SetBytes(int64(n))
			b.ReportAllocs()
			for b.Loop() {
				must(c.Read(b.Context(), h, 0, p))(b)
			}
		})
	}
}
