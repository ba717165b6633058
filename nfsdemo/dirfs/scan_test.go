//go:build linux

package dirfs

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// TestScansAreShared: files that are looked for at the same time are looked for together.
func TestScansAreShared(t *testing.T) {
	dir := tempDir(t)
	must(t, os.Mkdir(filepath.Join(dir, "old"), 0o755))
	must(t, os.Mkdir(filepath.Join(dir, "new"), 0o755))
	const files = 20
	fill(t, filepath.Join(dir, "old"), files)
	f, err := newFS(Config{Path: dir}, tiny)
	must(t, err)
	defer f.Close()
	o, _, err := f.Lookup(t.Context(), super, f.Root(), "old")
	must(t, err)
	var handles []nfs3.FH
	walkAll(t, f, o.File, true, 100, func(e *nfs3.Entry) {
		if e.Attr.Attr.Type == nfs3.TypeReg {
			handles = append(handles, e.File.FH)
		}
	})
	for i := range files {
		name := fmt.Sprint("file", i)
		must(t, os.Rename(filepath.Join(dir, "old", name), filepath.Join(dir, "new", name)))
	}
	f.tree.scanner.run.Lock() // as a scan that takes its time
	var all sync.WaitGroup
	for _, h := range handles {
		all.Go(func() {
			if _, err := f.GetAttr(t.Context(), h); err != nil {
				t.Error(err)
			}
		})
	}
	for wanted := 0; wanted < files; runtime.Gosched() {
		f.tree.scanner.mu.Lock()
		if f.tree.scanner.next != nil {
			wanted = len(f.tree.scanner.next.wanted)
		}
		f.tree.scanner.mu.Unlock()
	}
	f.tree.scanner.run.Unlock()
	all.Wait()
}

// TestScanRemembers: where one file was found by a scan, the others of the directory are known from then on.
func TestScanRemembers(t *testing.T) {
	f := openState(t)
	a := mkdir(t, f, f.Root(), "a")
	b := mkdir(t, f, a, "b")
	var handles []nfs3.FH
	for i := range 10 {
		handles = append(handles, createIn(t, f, b, fmt.Sprint("file", i)))
	}
	must(t, f.Close())
	must(t, os.Remove(stateFile(f, hintsFile)))
	f, err := New(configOf(f))
	must(t, err)
	defer f.Close()
	if _, err := f.GetAttr(t.Context(), handles[0]); err != nil {
		t.Fatal(err)
	}
	for _, h := range append(handles, a, b) {
		n, err := f.tree.table.find(&h)
		must(t, err)
		if len(f.tree.table.names(n)) != 1 {
			t.Errorf("inode %d is not known", n.ino)
		}
	}
}

// TestScanWithoutDescriptors: what cannot be looked for is not gone.
func TestScanWithoutDescriptors(t *testing.T) {
	f := openState(t)
	d := mkdir(t, f, f.Root(), "dir")
	h := createIn(t, f, d, "file")
	must(t, f.Close())
	must(t, os.Remove(stateFile(f, hintsFile)))
	f, err := New(configOf(f))
	must(t, err)
	defer f.Close()
	var before unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &before))
	must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 0, Max: before.Max}))
	_, err = f.GetAttr(t.Context(), h)
	must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &before))
	if err != nfs3.ErrJukebox {
		t.Errorf("without descriptors: %v", err)
	}
	if _, err := f.GetAttr(t.Context(), h); err != nil {
		t.Errorf("with descriptors: %v", err)
	}
}
