//go:build linux

package dirfs

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs/vfstest"
)

// TestPrograms: what a client has written, the host can execute once it is on stable storage: nobody has it open for writing.
func TestPrograms(t *testing.T) {
	needRoot(t)
	dir := tempDir(t)
	f := newIn(t, Config{Path: dir})
	ctx := t.Context()
	mode := func(to uint32) *nfs3.Sattr { return &nfs3.Sattr{Mode: nfs3.Set32{Set: true, To: to}} }
	write := func(h nfs3.FH, how nfs3.StableHow) {
		t.Helper()
		must(t, first(f.Write(ctx, super, h, 0, vfstest.Bulk([]byte("#!/bin/sh\n")), how)))
	}
	for _, tt := range []struct {
		name string
		mode uint32
		then func(h nfs3.FH)
	}{
		{"made", 0o755, func(nfs3.FH) {}},
		{"written stable", 0o755, func(h nfs3.FH) { write(h, nfs3.FileSync) }},
		{"committed", 0o755, func(h nfs3.FH) {
			write(h, nfs3.Unstable)
			must(t, first(f.Commit(ctx, super, h, 0, 0)))
		}},
		{"made executable", 0o644, func(h nfs3.FH) {
			write(h, nfs3.FileSync)
			must(t, first(f.SetAttr(ctx, super, h, mode(0o700), nil)))
		}},
		{"truncated", 0o755, func(h nfs3.FH) {
			must(t, first(f.SetAttr(ctx, super, h, &nfs3.Sattr{Size: nfs3.Set64{Set: true, To: 5}}, nil)))
		}},
	} {
		o, _, err := f.Create(ctx, super, f.Root(), tt.name, &nfs3.CreateHow{Mode: nfs3.Guarded, Set: *mode(tt.mode)})
		must(t, err)
		tt.then(o.File)
		// Like executing it, a lease for reading is granted only if nobody can write.
		file, err := os.Open(filepath.Join(dir, tt.name))
		must(t, err)
		if _, err := unix.FcntlInt(file.Fd(), unix.F_SETLEASE, unix.F_RDLCK); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		must(t, file.Close())
	}
}

// TestRetire: a descriptor that something is to be synced by stays.
func TestRetire(t *testing.T) {
	f := newIn(t, Config{Path: tempDir(t)})
	h := create(t, f, "file")
	write(t, f, h, 0, []byte("data"))
	n, err := f.tree.node(&h)
	must(t, err)
	d := f.tree.descs.data.get(n)
	if d == nil || !d.dirty.Load() {
		t.Fatalf("%+v", d)
	}
	f.tree.descs.data.retire(d)
	if got := f.tree.descs.data.get(n); got != d {
		t.Errorf("%p, want %p", got, d)
	} else {
		got.release()
	}
	must(t, d.sync(unix.Fsync))
	for range 2 {
		f.tree.descs.data.retire(d)
		if got := f.tree.descs.data.get(n); got != nil {
			t.Errorf("%p is still there", got)
			got.release()
		}
	}
	d.release()
}
