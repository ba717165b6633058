//go:build linux

package dirfs

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// TestSweep: descriptors of files that the host has removed are closed.
func TestSweep(t *testing.T) {
	f := newIn(t, Config{Path: tempDir(t)})
	stays := create(t, f, "stays")
	write(t, f, stays, 0, []byte("data"))
	wantData(t, f, stays, "data")
	before := descriptors(t)
	h := create(t, f, "file")
	write(t, f, h, 0, []byte("data"))
	wantData(t, f, h, "data")
	d := mkdir(t, f, f.Root(), "dir")
	must(t, first(f.ReadDir(t.Context(), super, d, 0, nfs3.Verifier{}, true, func(*nfs3.Entry) bool { return true })))
	must(t, os.Remove(filepath.Join(f.tree.host.path, "file")))
	must(t, os.Remove(filepath.Join(f.tree.host.path, "dir")))
	if n := descriptors(t); n <= before {
		t.Fatalf("%d descriptors, then %d with more files", before, n)
	}
	for range 2 {
		f.tree.sweep()
		if n := descriptors(t); n != before {
			t.Errorf("%d descriptors, then %d", before, n)
		}
	}
	for _, h := range []nfs3.FH{h, d} {
		if _, err := f.GetAttr(t.Context(), h); err != nfs3.ErrStale {
			t.Error(err)
		}
	}
	wantData(t, f, stays, "data")
}
