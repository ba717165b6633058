//go:build linux

package dirfs

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs/vfstest"
)

// TestPrograms: the host can execute a program that a client wrote once the file is on stable
// storage, is made executable, or has not been written for a while. By then the server has closed
// its descriptor for writing. This holds whichever user runs the server.
func TestPrograms(t *testing.T) {
	t.Run("root", func(t *testing.T) {
		needRoot(t)
		testPrograms(t, tempDir(t))
	})
	t.Run("user", func(t *testing.T) {
		dir := tempIn(t, os.TempDir())
		must(t, os.Chmod(dir, 0o777))
		asUser(t, nobody)
		testPrograms(t, dir)
	})
}

func testPrograms(t *testing.T, dir string) {
	f := newIn(t, Config{Path: dir})
	ctx := t.Context()
	mode := func(to uint32) *nfs3.Sattr { return &nfs3.Sattr{Mode: nfs3.Set32{Set: true, To: to}} }
	write := func(h nfs3.FH, how nfs3.StableHow) {
		t.Helper()
		script := vfstest.Bulk([]byte("#!/bin/sh\nexit 7\n"))
		must(t, first(f.Write(ctx, super, h, 0, script, how)))
	}
	commit := func(h nfs3.FH) { must(t, first(f.Commit(ctx, super, h, 0, 0))) }
	wait := func() {
		for range 3 { // in place of the timer
			f.tree.closeIdle()
		}
	}
	for _, tt := range []struct {
		name string
		mode uint32
		then func(h nfs3.FH)
	}{
		{"written stable", 0o755, func(h nfs3.FH) { write(h, nfs3.FileSync) }},
		{"committed", 0o755, func(h nfs3.FH) {
			write(h, nfs3.Unstable)
			commit(h)
		}},
		{"made executable", 0o644, func(h nfs3.FH) {
			write(h, nfs3.FileSync)
			must(t, first(f.SetAttr(ctx, super, h, mode(0o700), nil)))
		}},
		{"made executable, not committed", 0o644, func(h nfs3.FH) {
			write(h, nfs3.Unstable)
			must(t, first(f.SetAttr(ctx, super, h, mode(0o755), nil)))
		}},
		{"read-only", 0o555, func(h nfs3.FH) {
			write(h, nfs3.Unstable)
			commit(h)
			write(h, nfs3.Unstable) // the client still has it open
			commit(h)
		}},
		{"idle", 0o755, func(h nfs3.FH) {
			write(h, nfs3.Unstable)
			wait()
		}},
		{"made executable by the host", 0o644, func(h nfs3.FH) {
			write(h, nfs3.Unstable)
			must(t, os.Chmod(filepath.Join(dir, "made executable by the host"), 0o755))
			wait()
		}},
	} {
		set := mode(tt.mode)
		o, _, err := f.Create(ctx, super, f.Root(), tt.name, &nfs3.CreateHow{Mode: nfs3.Guarded, Set: *set})
		must(t, err)
		tt.then(o.File)
		for range 2 {
			var exit *exec.ExitError
			err := exec.Command(filepath.Join(dir, tt.name)).Run()
			if !errors.As(err, &exit) || exit.ExitCode() != 7 {
				t.Errorf("%s: %v", tt.name, err)
			}
			write(o.File, nfs3.FileSync)
		}
		if a, err := f.GetAttr(ctx, o.File); tt.mode == 0o555 && a.Mode != 0o555 || err != nil {
			t.Errorf("%s: mode %o, %v", tt.name, a.Mode, err)
		}
	}
	// A descriptor in use stays open.
	h := create(t, f, "in use")
	n, err := f.tree.node(&h)
	must(t, err)
	for range 5 {
		write(h, nfs3.Unstable)
		f.tree.closeIdle()
		d := f.tree.descs.data.get(n)
		if d == nil || !d.writable {
			t.Fatal("closed while it is being written")
		}
		d.release()
	}
}

// TestRetire: a descriptor that is needed for a sync stays open.
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
