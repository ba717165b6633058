//go:build linux && !race

// Under the race detector, sync.Pool drops items at random.

package dirfs

import (
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs/vfstest"
)

// TestAllocs: neither reading nor rewriting allocates.
func TestAllocs(t *testing.T) {
	fs := newIn(t, Config{Path: tempDir(t)})
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
		for _, how := range []nfs3.StableHow{nfs3.Unstable, nfs3.FileSync} {
			if allocs := testing.AllocsPerRun(10, func() {
				if _, err := fs.Write(ctx, super, h, uint64(n), data, how); err != nil {
					t.Fatal(err)
				}
			}); allocs != 0 {
				t.Errorf("write of %d bytes, stable %d: %v allocations", n, how, allocs)
			}
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
