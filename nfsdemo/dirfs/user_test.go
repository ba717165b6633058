//go:build linux

package dirfs

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs/vfstest"
)

const nobody = 65534

// asUser switches the process to another user until the test ends.
func asUser(t *testing.T, id int) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root to become somebody else")
	}
	must(t, syscall.Setresgid(-1, id, -1))
	t.Cleanup(func() { must(t, syscall.Setresgid(-1, 0, -1)) })
	must(t, syscall.Setresuid(-1, id, -1))
	t.Cleanup(func() { must(t, syscall.Setresuid(-1, 0, -1)) })
}

// TestAsUser: run by an ordinary user, the server does what that user may do, and reports the rest.
func TestAsUser(t *testing.T) {
	dir := tempIn(t, os.TempDir())
	must(t, os.WriteFile(filepath.Join(dir, "root's"), []byte("data"), 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "root's secret"), []byte("data"), 0o600))
	must(t, os.Mkdir(filepath.Join(dir, "root's directory"), 0o777))
	must(t, os.Chmod(filepath.Join(dir, "root's directory"), os.ModeSetgid|0o777))
	must(t, os.Chmod(dir, 0o777))
	asUser(t, nobody)
	f := newIn(t, Config{Path: dir})
	ctx, root := t.Context(), f.Root()
	for _, c := range []*vfs.Cred{super, somebody, {UID: nobody, GID: nobody}} {
		set := nfs3.Sattr{Mode: nfs3.Set32{Set: true, To: 0o642}, Size: nfs3.Set64{Set: true, To: 10}}
		o, _, err := f.Create(ctx, c, root, "file", &nfs3.CreateHow{Mode: nfs3.Guarded, Set: set})
		if a := o.Attr.Attr; err != nil || a.UID != nobody || a.GID != nobody || a.Mode != 0o642 || a.Size != 10 {
			t.Errorf("create by %d: %v, %+v", c.UID, err, a)
			continue
		}
		for what, err := range map[string]error{
			"write":   first(f.Write(ctx, c, o.File, 0, vfstest.Bulk([]byte("data")), nfs3.FileSync)),
			"link":    second(f.Link(ctx, c, o.File, root, "link")),
			"mkdir":   second(f.Mkdir(ctx, c, root, "dir", &nfs3.Sattr{})),
			"symlink": second(f.Symlink(ctx, c, root, "symlink", "to", &nfs3.Sattr{})),
			"mknod":   second(f.Mknod(ctx, c, root, "fifo", nfs3.TypeFIFO, nfs3.Specdata{}, &nfs3.Sattr{})),
			"rename":  second(f.Rename(ctx, c, root, "file", root, "file2")),
		} {
			if err != nil {
				t.Errorf("%s by %d: %v", what, c.UID, err)
			}
		}
		for _, name := range []string{"file2", "link", "symlink", "fifo"} {
			if _, err := f.Remove(ctx, c, root, name); err != nil {
				t.Errorf("remove of %s by %d: %v", name, c.UID, err)
			}
		}
		if _, err := f.Rmdir(ctx, c, root, "dir"); err != nil {
			t.Errorf("rmdir by %d: %v", c.UID, err)
		}
	}
	mine := create(t, f, "mine")
	to := func(id uint32) nfs3.Set32 { return nfs3.Set32{Set: true, To: id} }
	for what, err := range map[string]error{
		"chown":            first(f.SetAttr(ctx, super, mine, &nfs3.Sattr{UID: to(1001)}, nil)),
		"chgrp":            first(f.SetAttr(ctx, super, mine, &nfs3.Sattr{GID: to(1001)}, nil)),
		"create for other": second(f.Create(ctx, super, root, "other", &nfs3.CreateHow{Set: nfs3.Sattr{UID: to(1001)}})),
		"device":           second(f.Mknod(ctx, super, root, "null", nfs3.TypeChr, nfs3.Specdata{Major: 1, Minor: 3}, &nfs3.Sattr{})),
	} {
		if err != nfs3.ErrPerm {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := f.SetAttr(ctx, super, mine, &nfs3.Sattr{UID: to(nobody), GID: to(nobody), Mode: to(0o600)}, nil); err != nil {
		t.Errorf("chown to what it is: %v", err)
	}
	roots, _, err := f.Lookup(ctx, super, root, "root's")
	must(t, err)
	wantData(t, f, roots.File, "data")
	if _, err := f.Write(ctx, super, roots.File, 0, vfstest.Bulk([]byte("x")), nfs3.Unstable); err != nfs3.ErrAcces {
		t.Errorf("write to root's file: %v", err)
	}
	hidden, _, err := f.Lookup(ctx, super, root, "root's secret")
	must(t, err)
	if _, _, err := vfstest.Read(ctx, f, super, hidden.File, 0, 1); err != nfs3.ErrAcces {
		t.Errorf("read of root's secret: %v", err)
	}
	d, _, err := f.Lookup(ctx, super, root, "root's directory")
	must(t, err)
	if o, _, err := f.Mkdir(ctx, super, d.File, "dir", &nfs3.Sattr{}); err != nil || o.Attr.Attr.GID != 0 {
		t.Errorf("mkdir with the group of the directory: %v, %+v", err, o.Attr.Attr)
	}
}

// TestDevices: only root may make devices.
func TestDevices(t *testing.T) {
	f := newIn(t, Config{Path: tempDir(t)})
	ctx := t.Context()
	for _, tt := range []struct {
		c    *vfs.Cred
		kind nfs3.FileType
		rdev nfs3.Specdata
		want error
	}{
		{super, nfs3.TypeChr, nfs3.Specdata{Major: 1, Minor: 3}, nil},
		{super, nfs3.TypeBlk, nfs3.Specdata{Major: 259, Minor: 70000}, nil},
		{super, nfs3.TypeChr, nfs3.Specdata{Major: 1 << 12, Minor: 0}, nfs3.ErrInval},
		{super, nfs3.TypeChr, nfs3.Specdata{Major: 0, Minor: 1 << 20}, nfs3.ErrInval},
		{&vfs.Cred{UID: 1}, nfs3.TypeChr, nfs3.Specdata{Major: 1, Minor: 3}, nfs3.ErrPerm},
		{super, nfs3.TypeReg, nfs3.Specdata{}, nfs3.ErrBadType},
		{super, nfs3.TypeDir, nfs3.Specdata{}, nfs3.ErrBadType},
		{super, nfs3.TypeLnk, nfs3.Specdata{}, nfs3.ErrBadType},
		{super, 0, nfs3.Specdata{}, nfs3.ErrBadType},
		{super, 8, nfs3.Specdata{}, nfs3.ErrBadType},
	} {
		must(t, os.Chmod(f.tree.host.path, 0o777))
		o, _, err := f.Mknod(ctx, tt.c, f.Root(), "node", tt.kind, tt.rdev, &nfs3.Sattr{})
		if tt.want == nil && err == nfs3.ErrPerm && unix.Mknod(filepath.Join(f.tree.host.path, "try"), unix.S_IFCHR, 0x103) == unix.EPERM {
			t.Skip("needs the right to make devices")
		}
		if err != tt.want {
			t.Errorf("%d %v by %d: %v, want %v", tt.kind, tt.rdev, tt.c.UID, err, tt.want)
		}
		if err != nil {
			continue
		}
		if a := o.Attr.Attr; a.Type != tt.kind || a.Rdev != tt.rdev || a.Mode != 0o644 {
			t.Errorf("%+v", a)
		}
		if _, _, err := vfstest.Read(ctx, f, super, o.File, 0, 1); err != nfs3.ErrInval {
			t.Errorf("read: %v", err)
		}
		if _, err := f.Remove(ctx, super, f.Root(), "node"); err != nil {
			t.Error(err)
		}
	}
}
