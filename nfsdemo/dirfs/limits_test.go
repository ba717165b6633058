//go:build linux

package dirfs

import (
	"fmt"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// TestFewDescriptors: many file systems work in a process with few descriptors. Descriptors cached
// by one make room for another.
func TestFewDescriptors(t *testing.T) {
	bothWays(t, func(t *testing.T, byName bool) {
		var before unix.Rlimit
		must(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &before))
		few := uint64(descriptors(t) + 300)
		must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: few, Max: before.Max}))
		defer func() { must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &before)) }()
		const systems, files = 20, 30
		var all [systems]*FS
		for i := range all {
			dir := tempDir(t)
			fill(t, dir, files)
			all[i] = newIn(t, Config{Path: dir, State: filepath.Join(t.TempDir(), "state"), ByName: byName})
		}
		handles := make(map[*FS][]nfs3.FH)
		for _, f := range all {
			walkAll(t, f, f.Root(), true, 100, func(e *nfs3.Entry) {
				if e.Attr.Attr.Type == nfs3.TypeReg {
					handles[f] = append(handles[f], e.File.FH)
				}
			})
		}
		for _, f := range all {
			for i, h := range handles[f] {
				write(t, f, h, 0, fmt.Append(nil, i))
			}
		}
		if n := uint64(descriptors(t)); n+10 > few {
			t.Errorf("%d descriptors of %d are in use: there are none for connections", n, few)
		}
		for i := range files {
			for _, f := range all {
				wantData(t, f, handles[f][i], fmt.Sprint(i))
			}
		}
	})
}
