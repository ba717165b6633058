//go:build linux

package dirfs

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs/vfstest"
)

// TestFull: a full disk is reported as full, existing data stays intact, and removing something
// makes room again.
func TestFull(t *testing.T) {
	dir := tempDir(t)
	mountOn(t, dir, "tmpfs", "tmpfs", 0, "size=4m,nr_inodes=20,mode=0755")
	f := newIn(t, Config{Path: dir})
	ctx := t.Context()
	h := create(t, f, "file")
	p := bytes.Repeat([]byte("before"), 1<<19/6)
	write(t, f, h, 0, p)
	other := create(t, f, "other")
	off, how := uint64(0), nfs3.FileSync
	for {
		w, err := f.Write(ctx, super, other, off, vfstest.Bulk(make([]byte, 300000)), how)
		if err == nil {
			if off += uint64(w.Count); off > 4<<20 || w.Count == 0 || !w.Wcc.Before.Present || w.Wcc.After.Attr.Size != off {
				t.Fatalf("%d bytes, %+v", off, w)
			}
			continue
		}
		if err != nfs3.ErrNoSpc || w.Count != 0 || w.Wcc.After.Attr.Size != off || w.Wcc.Before.Size != off {
			t.Fatalf("full after %d bytes: %v, %+v", off, err, w)
		}
		break
	}
	s, _, err := f.StatFS(ctx, f.Root())
	if err != nil || s.TotalBytes != 4<<20 || s.FreeBytes != 0 || s.AvailBytes != 0 || s.TotalFiles != 20 || s.FreeFiles != 17 || s.AvailFiles != 17 {
		t.Errorf("full: %+v, %v", s, err)
	}
	if _, err := f.Write(ctx, super, h, uint64(len(p)), vfstest.Bulk(make([]byte, 1<<20)), how); err != nfs3.ErrNoSpc && err != nil {
		t.Error(err)
	}
	if got, _, err := vfstest.Read(ctx, f, super, h, 0, len(p)); !bytes.Equal(got, p) || err != nil {
		t.Errorf("what was there before is something else: %v", err)
	}
	// Existing data can be overwritten.
	write(t, f, h, 0, bytes.Repeat([]byte{1}, len(p)))
	if _, err := f.Remove(ctx, super, f.Root(), "other"); err != nil {
		t.Fatal(err)
	}
	write(t, f, h, 0, bytes.Repeat([]byte{2}, 3<<20))

	// Files that do not fit are refused, and none is left half made.
	for i := range 20 {
		_, _, err = f.Create(ctx, super, f.Root(), fmt.Sprint("file", i), &nfs3.CreateHow{Mode: nfs3.Guarded})
		if err != nil {
			break
		}
	}
	for what, err := range map[string]error{
		"create":  err,
		"mkdir":   second(f.Mkdir(ctx, super, f.Root(), "x", &nfs3.Sattr{})),
		"symlink": second(f.Symlink(ctx, super, f.Root(), "x", "to", &nfs3.Sattr{})),
		"mknod":   second(f.Mknod(ctx, super, f.Root(), "x", nfs3.TypeFIFO, nfs3.Specdata{}, &nfs3.Sattr{})),
	} {
		if err != nfs3.ErrNoSpc {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, _, err := f.Lookup(ctx, super, f.Root(), "x"); err != nfs3.ErrNoEnt {
		t.Errorf("lookup of what could not be made: %v", err)
	}
}

// TestReadOnly: a file system that the host has mounted read-only can be read.
func TestReadOnly(t *testing.T) {
	dir := tempDir(t)
	mountOn(t, dir, "tmpfs", "tmpfs", 0, "size=1m,mode=0755")
	must(t, os.WriteFile(filepath.Join(dir, "file"), []byte("data"), 0o644))
	must(t, unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	f := newIn(t, Config{Path: dir, State: t.TempDir()})
	ctx := t.Context()
	o, _, err := f.Lookup(ctx, super, f.Root(), "file")
	must(t, err)
	wantData(t, f, o.File, "data")
	if _, err := f.Commit(ctx, super, o.File, 0, 0); err != nil {
		t.Errorf("commit: %v", err)
	}
	for what, err := range map[string]error{
		"write":   first(f.Write(ctx, super, o.File, 0, vfstest.Bulk([]byte("x")), nfs3.Unstable)),
		"setattr": first(f.SetAttr(ctx, super, o.File, &nfs3.Sattr{Mode: nfs3.Set32{Set: true}}, nil)),
		"size":    first(f.SetAttr(ctx, super, o.File, &nfs3.Sattr{Size: nfs3.Set64{Set: true}}, nil)),
		"create":  second(f.Create(ctx, super, f.Root(), "x", &nfs3.CreateHow{})),
		"mkdir":   second(f.Mkdir(ctx, super, f.Root(), "x", &nfs3.Sattr{})),
		"remove":  first(f.Remove(ctx, super, f.Root(), "file")),
		"rename":  second(f.Rename(ctx, super, f.Root(), "file", f.Root(), "x")),
		"link":    second(f.Link(ctx, super, o.File, f.Root(), "x")),
	} {
		if err != nfs3.ErrROFS {
			t.Errorf("%s: %v", what, err)
		}
	}
}
