//go:build linux

package dirfs

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/internal/soak"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs/vfstest"
)

// TestDescriptors: few descriptors are open, however many files are in use, and none leaks.
func TestDescriptors(t *testing.T) {
	before := descriptors(t)
	dir := tempDir(t)
	const paths, data = 40, 20
	files := soak.Amount(1000, 5000)
	fill(t, dir, files)
	f, err := newFS(Config{Path: dir, State: t.TempDir()}, limits{paths, data})
	must(t, err)
	var handles []nfs3.FH
	walkAll(t, f, f.Root(), true, 100, func(e *nfs3.Entry) {
		if e.Attr.Attr.Type == nfs3.TypeReg {
			handles = append(handles, e.File.FH)
		}
	})
	if len(handles) != files {
		t.Fatalf("%d files", len(handles))
	}
	for i, h := range handles {
		if _, err := f.Write(t.Context(), super, h, 0, vfstest.Bulk([]byte(fmt.Sprint(i))), nfs3.Unstable); err != nil {
			t.Fatal(err)
		}
		if i%100 == 0 {
			if n := descriptors(t) - before; n > paths+data+4 {
				t.Fatalf("%d descriptors", n)
			}
		}
	}
	for i, h := range handles {
		if i%10 == 0 {
			wantData(t, f, h, fmt.Sprint(i))
		}
	}
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			for i := w; i < files; i += 7 {
				wantData(t, f, handles[i], fmt.Sprint(i))
			}
		})
	}
	all.Wait()
	must(t, f.Close())
	if n := descriptors(t); n != before {
		t.Errorf("%d descriptors, then %d", before, n)
	}
	// Errors leak none either.
	for _, cfg := range []Config{{Path: filepath.Join(dir, "missing")}, {Path: filepath.Join(dir, "file1")}, {Path: dir, State: dir}, {Path: dir, State: filepath.Join(dir, "file1")}} {
		if _, err := New(cfg); err == nil {
			t.Errorf("%+v: no error", cfg)
		}
	}
	if n := descriptors(t); n != before {
		t.Errorf("%d descriptors, then %d after errors", before, n)
	}
}

// descriptors counts the open descriptors of the process, except the one used for counting.
func descriptors(tb testing.TB) int {
	tb.Helper()
	names, err := os.ReadDir("/proc/self/fd")
	must(tb, err)
	n := 0
	for _, e := range names {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && to != "/proc/self/fd" && to != "anon_inode:[eventpoll]" && to != "anon_inode:[eventfd]" {
			n++
		}
	}
	return n
}

// TestNoDescriptorLeft: cached descriptors are closed when the process runs out of descriptors.
func TestNoDescriptorLeft(t *testing.T) {
	dir := tempDir(t)
	const files = 50
	fill(t, dir, files)
	f := newIn(t, Config{Path: dir})
	handles := make(map[string]nfs3.FH)
	walkAll(t, f, f.Root(), true, 100, func(e *nfs3.Entry) { handles[e.Name] = e.File.FH })
	for i := range files - 1 {
		h := handles[fmt.Sprint("file", i)]
		write(t, f, h, 0, []byte("data"))
	}
	var before unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &before))
	lowest, err := unix.FcntlInt(0, unix.F_DUPFD_CLOEXEC, 0) // that is free
	must(t, err)
	must(t, unix.Close(lowest))
	must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(lowest), Max: before.Max}))
	defer unix.Setrlimit(unix.RLIMIT_NOFILE, &before)
	h := handles[fmt.Sprint("file", files-1)]
	if _, err := f.GetAttr(t.Context(), h); err != nil {
		t.Error(err)
	}
	if _, err := f.Write(t.Context(), super, h, 0, vfstest.Bulk([]byte("data")), nfs3.FileSync); err != nil {
		t.Error(err)
	}
}
