package nfsdemo

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// pairs runs a yardstick and an operation in turn, so that both see the same machine state. It
// reports the median ratio of their times as metric, inverted if inverse is set.
func pairs(b *testing.B, metric string, inverse bool, yardstick, op func()) {
	const run = 16 // operations between two readings of the clock
	var ratios []float64
	timed := func(f func()) float64 {
		start := time.Now()
		for range run {
			f()
		}
		return float64(time.Since(start))
	}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		if n++; n%run != 0 {
			op()
			continue
		}
		b.StopTimer()
		y := timed(yardstick)
		r := timed(op) / y
		if inverse {
			r = 1 / r
		}
		ratios = append(ratios, r)
		b.StartTimer()
	}
	if len(ratios) > 0 {
		slices.Sort(ratios)
		b.ReportMetric(ratios[len(ratios)/2], metric)
	}
}

// BenchmarkRDMA measures NFS over the in-process provider, relative to a yardstick in the same run:
// NULL to a ping-pong between two goroutines over channels, and READ to a plain copy of the same
// bytes from the file system's pages to the same buffer.
//
// "hot" reads the same bytes repeatedly, which fit in a cache. "file" reads through a file of 64
// MiB.
func BenchmarkRDMA(b *testing.B) {
	const size = 64 << 20
	r := newRig(b, providers["loopback"], size)
	ctx := context.Background()
	check := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	b.Run("NULL", func(b *testing.B) {
		to, from := make(chan int), make(chan int)
		go func() {
			for v := range to {
				from <- v
			}
		}()
		defer close(to)
		pairs(b, "pingpongs/op", false, func() { to <- 1; <-from }, func() { check(r.client.Null(ctx)) })
	})
	for _, n := range []int{4 << 10, 64 << 10, 1 << 20} {
		for _, span := range []struct {
			name string
			size int
		}{{"hot", n}, {"file", size}} {
			p := make([]byte, n)
			name := fmt.Sprintf("%dKiB/%s", n>>10, span.name)
			b.Run("READ/"+name, func(b *testing.B) {
				b.SetBytes(int64(n))
				off, copyOff := 0, 0
				var res vfs.ReadResult
				pairs(b, "ofcopy", true, func() {
					res.Data = res.Data[:0]
					check(r.fs.Read(ctx, &vfs.Cred{}, r.file, uint64(copyOff), n, &res))
					to := p
					for _, page := range res.Data {
						to = to[copy(to, page):]
					}
					res.Release.Release()
					copyOff = (copyOff + n) % span.size
				}, func() {
					_, err := r.client.Read(ctx, r.file, uint64(off), p)
					check(err)
					off = (off + n) % span.size
				})
			})
			b.Run("WRITE/"+name, func(b *testing.B) {
				b.SetBytes(int64(n))
				b.ReportAllocs()
				off := 0
				for b.Loop() {
					_, err := r.client.Write(ctx, r.file, uint64(off), p, nfs3.Unstable)
					check(err)
					off = (off + n) % span.size
				}
			})
		}
	}
}
