//go:build linux

package dirfs

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs/vfstest"
)

// TestSyncFails: a failure to write data back changes the epoch, even if it happened while a
// descriptor was closed to make room.
func TestSyncFails(t *testing.T) {
	f := newIn(t, Config{Path: tempDir(t)})
	h := create(t, f, "file")
	write(t, f, h, 0, []byte("data"))
	held, err := f.tree.hold(&h)
	must(t, err)
	defer held.release()
	epoch := f.Info().Epoch
	another := func(what string, want bool) {
		t.Helper()
		if now := f.Info().Epoch; (now != epoch) != want {
			t.Errorf("%s: epoch %d, then %d", what, epoch, now)
		}
		epoch = f.Info().Epoch
	}
	d, err := held.open(true)
	must(t, err)
	if err := held.sync(d, func(d *desc) error { return d.sync(func(int) error { return unix.EIO }) }); err != nfs3.ErrIO {
		t.Errorf("sync: %v", err)
	}
	d.release()
	another("a sync that failed", true)
	must(t, first(f.Commit(t.Context(), super, h, 0, 0)))
	another("a sync that did not", false)

	write(t, f, h, 0, []byte("more"))
	d, err = held.open(true)
	must(t, err)
	f.tree.descs.data.drop(held.n)
	bad := d.fd
	d.fd = -1
	d.release()
	must(t, unix.Close(bad))
	another("a descriptor that could not be synced", true)
}

// TestSetAttrFails: if the host refuses part of a SETATTR, nothing is changed. Here it refuses to
// resize a program that is being executed.
func TestSetAttrFails(t *testing.T) {
	needRoot(t)
	cat, err := exec.LookPath("cat")
	must(t, err)
	program, err := os.ReadFile(cat)
	must(t, err)
	f := newIn(t, Config{Path: tempDir(t)})
	path := filepath.Join(f.tree.host.path, "program")
	must(t, os.WriteFile(path, program, 0o755))
	must(t, os.Chmod(path, os.ModeSetuid|0o755))
	run := exec.Command(path)
	in, err := run.StdinPipe()
	must(t, err)
	must(t, run.Start())
	defer run.Wait()
	defer in.Close()
	o, _, err := f.Lookup(t.Context(), super, f.Root(), "program")
	must(t, err)
	set := nfs3.Sattr{UID: nfs3.Set32{Set: true, To: 5}, GID: nfs3.Set32{Set: true, To: 6}, Size: nfs3.Set64{Set: true}}
	if wcc, err := f.SetAttr(t.Context(), super, o.File, &set, nil); err != nfs3.ErrAcces || !wcc.After.Present {
		t.Errorf("%v, %+v", err, wcc)
	}
	got, err := f.GetAttr(t.Context(), o.File)
	if a := o.Attr.Attr; err != nil || got.UID != a.UID || got.GID != a.GID || got.Mode != a.Mode || got.Size != a.Size {
		t.Errorf("%+v, then %+v, %v", a, got, err)
	}
	// The file can still be read and replaced.
	if p, _, err := vfstest.Read(t.Context(), f, super, o.File, 0, len(program)); !bytes.Equal(p, program) || err != nil {
		t.Errorf("read of the program: %v", err)
	}
	must(t, first(f.Remove(t.Context(), super, f.Root(), "program")))
}

// TestWriteAfterRead: a file that was opened for reading can be written.
func TestWriteAfterRead(t *testing.T) {
	dir := tempDir(t)
	must(t, os.WriteFile(filepath.Join(dir, "file"), []byte("before"), 0o644))
	f := newIn(t, Config{Path: dir})
	o, _, err := f.Lookup(t.Context(), super, f.Root(), "file")
	must(t, err)
	wantData(t, f, o.File, "before")
	write(t, f, o.File, 0, []byte("after!"))
	wantData(t, f, o.File, "after!")
	must(t, first(f.Commit(t.Context(), super, o.File, 0, 0)))
}

// TestWriteLate: data is not written once its connection has ended. The client may already have
// written the same and newer data over another connection.
func TestWriteLate(t *testing.T) {
	f := newIn(t, Config{Path: tempDir(t)})
	h := create(t, f, "file")
	write(t, f, h, 0, []byte("newer"))
	ctx, end := context.WithCancel(t.Context())
	_, err := f.Write(ctx, super, h, 0, vfstest.LazyBulk([]byte("older"), func() error { end(); return nil }), nfs3.Unstable)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	if got, _, err := vfstest.Read(t.Context(), f, super, h, 0, 10); err != nil || string(got) != "newer" {
		t.Errorf("the file has %q, %v; want %q", got, err, "newer")
	}
}
