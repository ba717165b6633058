//go:build linux

package dirfs

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// TestTimesOutOfRange: a file of the host whose time NFS does not have has the nearest one.
func TestTimesOutOfRange(t *testing.T) {
	dir := tempDir(t)
	name := filepath.Join(dir, "file")
	must(t, os.WriteFile(name, nil, 0o644))
	f := newIn(t, Config{Path: dir})
	for _, year := range []int{1960, 1969, 2005, 2105, 2107, 2120} {
		at := time.Date(year, 5, 6, 7, 8, 9, 123456789, time.UTC)
		must(t, os.Chtimes(name, at, at))
		if i, err := os.Stat(name); err != nil || !i.ModTime().Equal(at) {
			t.Logf("the host has no times of %d: %v, %v", year, i.ModTime(), err)
			continue
		}
		want := nfs3.Time{Sec: uint32(at.Unix()), Nsec: 123456789}
		switch {
		case year < 1970:
			want = nfs3.Time{}
		case year > 2106:
			want = nfs3.Time{Sec: 1<<32 - 1, Nsec: 1e9 - 1}
		}
		o, _, err := f.Lookup(t.Context(), super, f.Root(), "file")
		must(t, err)
		if a := o.Attr.Attr; a.Mtime != want || a.Atime != want {
			t.Errorf("%d: got %v and %v, want %v", year, a.Mtime.Time().UTC(), a.Atime.Time().UTC(), want.Time().UTC())
		}
	}
}
