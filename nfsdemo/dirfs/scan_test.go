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

// forgetNames deletes the stored names of a file system and opens it again.
func forgetNames(tb testing.TB, f *FS) *FS {
	tb.Helper()
	must(tb, f.Close())
	must(tb, os.Remove(stateFile(f, segmentPrefix+"1")))
	again, err := New(configOf(f))
	must(tb, err)
	return again
}

// TestScansAreShared: files searched for at the same time share one scan, including files that do
// not exist. The latter are not searched for again.
func TestScansAreShared(t *testing.T) {
	dir := tempDir(t)
	must(t, os.Mkdir(filepath.Join(dir, "old"), 0o755))
	must(t, os.Mkdir(filepath.Join(dir, "new"), 0o755))
	const files = 20
	fill(t, filepath.Join(dir, "old"), files)
	f, err := newFS(Config{Path: dir, ByName: true}, tiny)
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
	missing := key{1 << 40, 1}.id()
	handles = append(handles, f.tree.sealer.handle(&missing))
	s := byNameOf(f)
	s.scanner.mu.Lock()
	s.scanner.working = true // like a slow scan
	s.scanner.mu.Unlock()
	var all sync.WaitGroup
	for i, h := range handles {
		all.Go(func() {
			if _, err := f.GetAttr(t.Context(), h); (err == nil) != (i < files) {
				t.Error(err)
			}
		})
	}
	for wanted := 0; wanted < len(handles); runtime.Gosched() {
		s.scanner.mu.Lock()
		if s.scanner.next != nil {
			wanted = len(s.scanner.next.wanted)
		}
		s.scanner.mu.Unlock()
	}
	s.scanner.done.Go(s.scanner.work)
	all.Wait()
	s.scanner.done.Wait()
	s.scanner.mu.Lock()
	s.scanner.working = true // from now on every search waits in vain
	s.scanner.mu.Unlock()
	if _, err := f.GetAttr(t.Context(), handles[files]); err != nfs3.ErrStale {
		t.Errorf("a file that was looked for in vain: %v", err)
	}
	// A call gives up waiting, and the client is asked to try again.
	other := key{1 << 41, 1}.id()
	if _, err := f.GetAttr(t.Context(), f.tree.sealer.handle(&other)); err != nfs3.ErrJukebox {
		t.Errorf("a file that nobody looks for: %v", err)
	}
}

// TestScanRemembers: a scan that found one file of a directory has learned the others' names too.
func TestScanRemembers(t *testing.T) {
	f := openState(t)
	a := mkdir(t, f, f.Root(), "a")
	b := mkdir(t, f, a, "b")
	var handles []nfs3.FH
	for i := range 10 {
		handles = append(handles, createIn(t, f, b, fmt.Sprint("file", i)))
	}
	f = forgetNames(t, f)
	defer f.Close()
	if _, err := f.GetAttr(t.Context(), handles[0]); err != nil {
		t.Fatal(err)
	}
	for _, h := range append(handles, a, b) {
		if k := keyOfHandle(t, f, h); len(byNameOf(f).names.of(k)) != 1 {
			t.Errorf("inode %d is not known", k.ino)
		}
	}
}

// TestScanWithoutDescriptors: a file that cannot be searched for does not count as gone.
func TestScanWithoutDescriptors(t *testing.T) {
	f := openState(t)
	d := mkdir(t, f, f.Root(), "dir")
	h := createIn(t, f, d, "file")
	f = forgetNames(t, f)
	defer f.Close()
	var before unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &before))
	must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 0, Max: before.Max}))
	_, err := f.GetAttr(t.Context(), h)
	must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &before))
	if err != nfs3.ErrJukebox {
		t.Errorf("without descriptors: %v", err)
	}
	if _, err := f.GetAttr(t.Context(), h); err != nil {
		t.Errorf("with descriptors: %v", err)
	}
}
