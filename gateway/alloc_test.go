//go:build !race

package gateway

import (
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// This test is not built with the race detector, under which sync.Pool forgets at random.

// TestAllocations: in the steady state a call allocates nothing, in the client, the gateway and the
// server together.
func TestAllocations(t *testing.T) {
	g := start(t, Config{Dial: overRDMA(t, nfsServer(t), rpcrdma.Config{})}, recordmark.Config{})
	data := pattern(1 << 20)
	c, _, h := file(t, dialTCP(t, g.addr), data)
	ctx := limited(t)
	for _, tt := range []struct {
		name string
		call func() error
	}{
		{"READ of 1 MiB", func() error { _, err := c.Read(ctx, h, 0, data); return err }},
		{"READ of 512 bytes", func() error { _, err := c.Read(ctx, h, 0, data[:512]); return err }},
		{"WRITE of 1 MiB", func() error { _, err := c.Write(ctx, h, 0, data, nfs3.Unstable); return err }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			call := func() {
				if err := tt.call(); err != nil {
					t.Fatal(err)
				}
			}
			for range 50 { // the pools fill
				call()
			}
			if n := testing.AllocsPerRun(200, call); n >= 1 {
				t.Errorf("%v allocations a call", n)
			}
		})
	}
}

// BenchmarkRead reads 1 MiB at a time through the gateway.
func BenchmarkRead(b *testing.B) {
	g := start(b, Config{Dial: overRDMA(b, nfsServer(b), rpcrdma.Config{})}, recordmark.Config{})
	data := pattern(1 << 20)
	c, _, h := file(b, dialTCP(b, g.addr), data)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Read(b.Context(), h, 0, data); err != nil {
			b.Fatal(err)
		}
	}
}
