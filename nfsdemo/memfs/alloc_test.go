//go:build !race

// Under the race detector, sync.Pool drops items at random.

package memfs

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs/vfstest"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

var sizes = []int{4 << 10, 64 << 10, 1 << 20}

// TestAllocs: neither reading nor rewriting allocates.
func TestAllocs(t *testing.T) {
	fs := newFS(t, Config{})
	h := create(t, fs, "file")
	write(t, fs, h, 0, make([]byte, 4<<20))
	ctx := t.Context()
	for _, n := range sizes {
		var r vfs.ReadResult
		if allocs := testing.AllocsPerRun(100, func() {
			r = vfs.ReadResult{Data: r.Data[:0]}
			if err := fs.Read(ctx, super, h, uint64(n), n, &r); err != nil {
				t.Fatal(err)
			}
			r.Release.Release()
		}); allocs != 0 {
			t.Errorf("read of %d bytes: %v allocations", n, allocs)
		}
		data := vfstest.Bulk(make([]byte, n))
		if allocs := testing.AllocsPerRun(100, func() {
			if _, err := fs.Write(ctx, super, h, uint64(n), data, nfs3.Unstable); err != nil {
				t.Fatal(err)
			}
		}); allocs != 0 {
			t.Errorf("write of %d bytes: %v allocations", n, allocs)
		}
		lazy := vfstest.LazyBulk(make([]byte, n), func() error { return nil })
		if allocs := testing.AllocsPerRun(100, func() {
			if _, err := fs.Write(ctx, super, h, uint64(n)+100, lazy, nfs3.Unstable); err != nil {
				t.Fatal(err)
			}
		}); allocs != 0 {
			t.Errorf("unaligned write of %d bytes: %v allocations", n, allocs)
		}
	}
	if allocs := testing.AllocsPerRun(100, func() {
		if _, err := fs.GetAttr(ctx, h); err != nil {
			t.Fatal(err)
		}
	}); allocs != 0 {
		t.Errorf("GetAttr: %v allocations", allocs)
	}
}

// TestAllocsFull: rewriting a file system that is full does not allocate either.
func TestAllocsFull(t *testing.T) {
	const capacity = 8 << 20
	fs := newFS(t, Config{Capacity: capacity + 2*nodeCharge + nameCharge + 4})
	h := create(t, fs, "file")
	write(t, fs, h, 0, make([]byte, capacity))
	bulks := make([]xdr.Bulk, len(sizes))
	for i, n := range sizes {
		bulks[i] = vfstest.Bulk(make([]byte, n))
	}
	if allocs := testing.AllocsPerRun(100, func() {
		for _, data := range bulks {
			if _, err := fs.Write(t.Context(), super, h, 1<<20, data, nfs3.Unstable); err != nil {
				t.Fatal(err)
			}
		}
	}); allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

// TestAllocsFootprint: a file uses memory for its size, and rewriting it uses no more.
func TestAllocsFootprint(t *testing.T) {
	const size, piece = 128 << 20, 1 << 20
	fs := newFS(t, Config{})
	h := create(t, fs, "file")
	data := vfstest.Bulk(make([]byte, piece))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 3 {
		for off := uint64(0); off < size; off += piece {
			if _, err := fs.Write(t.Context(), super, h, off, data, nfs3.Unstable); err != nil {
				t.Fatal(err)
			}
		}
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > size+8<<20 {
		t.Errorf("a file of %d MiB took %d MiB", size>>20, got>>20)
	}
}

func BenchmarkRead(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			fs := newFS(b, Config{})
			h := create(b, fs, "file")
			write(b, fs, h, 0, make([]byte, 2<<20))
			var r vfs.ReadResult
			b.SetBytes(int64(n))
			b.ReportAllocs()
			for b.Loop() {
				r = vfs.ReadResult{Data: r.Data[:0]}
				fs.Read(b.Context(), super, h, uint64(n), n, &r)
				r.Release.Release()
			}
		})
	}
}

func BenchmarkWrite(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			fs := newFS(b, Config{})
			h := create(b, fs, "file")
			data := vfstest.Bulk(make([]byte, n))
			b.SetBytes(int64(n))
			b.ReportAllocs()
			for b.Loop() {
				fs.Write(b.Context(), super, h, uint64(n), data, nfs3.Unstable)
			}
		})
	}
}

func BenchmarkReadDirPlus10000(b *testing.B) { benchmarkReadDirPlus(b, 10_000) }

func BenchmarkReadDirPlus100000(b *testing.B) { benchmarkReadDirPlus(b, 100_000) }

func benchmarkReadDirPlus(b *testing.B, n int) {
	fs := newFS(b, Config{})
	for i := range n {
		create(b, fs, fmt.Sprint("file", i))
	}
	for b.Loop() {
		if got, _ := names(b, fs, fs.Root(), 100); len(got) != n {
			b.Fatalf("%d names", len(got))
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/entry")
}
