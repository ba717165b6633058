package vfstest

import (
	"context"
	"errors"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// fixture is one test with a file system of its own.
type fixture struct {
	*testing.T
	fs  vfs.FS
	ctx context.Context
}

// Who calls.
var (
	root  = &vfs.Cred{}
	alice = &vfs.Cred{UID: 1001, GID: 100, GIDs: []uint32{500, 501}}
	bob   = &vfs.Cred{UID: 1002, GID: 100}
	carol = &vfs.Cred{UID: 1003, GID: 300, GIDs: []uint32{501}}
)

// want fails the test unless err is the status.
func (f *fixture) want(what string, err error, status nfs3.Status) {
	f.Helper()
	if status == nfs3.OK && err != nil || status != nfs3.OK && !errors.Is(err, status) {
		f.Errorf("%s: %v, want %v", what, err, status)
	}
}

// ok stops the test at an error.
func (f *fixture) ok(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// attr returns the attributes of a file.
func (f *fixture) attr(h nfs3.FH) nfs3.Fattr {
	f.Helper()
	a, err := f.fs.GetAttr(f.ctx, h)
	f.ok(err)
	return a
}

// file makes a file of root's with mode 0644 in the root directory.
func (f *fixture) file(name string) nfs3.FH {
	f.Helper()
	return f.fileOf(root, f.fs.Root(), name, 0o644)
}

func (f *fixture) fileOf(c *vfs.Cred, dir nfs3.FH, name string, mode uint32) nfs3.FH {
	f.Helper()
	o, _, err := f.fs.Create(f.ctx, c, dir, name, &nfs3.CreateHow{Mode: nfs3.Guarded, Set: setMode(mode)})
	f.ok(err)
	return o.File
}

// dir makes a directory in the root directory.
func (f *fixture) dir(name string, mode uint32) nfs3.FH {
	f.Helper()
	set := setMode(mode)
	o, _, err := f.fs.Mkdir(f.ctx, root, f.fs.Root(), name, &set)
	f.ok(err)
	return o.File
}

func setMode(mode uint32) nfs3.Sattr { return nfs3.Sattr{Mode: nfs3.Set32{Set: true, To: mode}} }

func setSize(size uint64) nfs3.Sattr { return nfs3.Sattr{Size: nfs3.Set64{Set: true, To: size}} }

func (f *fixture) set(h nfs3.FH, set nfs3.Sattr) {
	f.Helper()
	_, err := f.fs.SetAttr(f.ctx, root, h, &set, nil)
	f.ok(err)
}

// write writes p as root.
func (f *fixture) write(h nfs3.FH, off uint64, p []byte) {
	f.Helper()
	w, err := f.fs.Write(f.ctx, root, h, off, Bulk(p), nfs3.FileSync)
	f.ok(err)
	if int(w.Count) != len(p) || w.Committed != nfs3.FileSync {
		f.Fatalf("write of %d bytes: %d stored, committed %d", len(p), w.Count, w.Committed)
	}
}

// read reads up to n bytes as root.
func (f *fixture) read(h nfs3.FH, off uint64, n int) ([]byte, bool) {
	f.Helper()
	p, eof, err := Read(f.ctx, f.fs, root, h, off, n)
	f.ok(err)
	return p, eof
}

// mkdir makes a directory as c.
func (f *fixture) mkdir(c *vfs.Cred, dir nfs3.FH, name string, mode uint32) nfs3.FH {
	f.Helper()
	set := setMode(mode)
	o, _, err := f.fs.Mkdir(f.ctx, c, dir, name, &set)
	f.ok(err)
	return o.File
}

func (f *fixture) symlink(dir nfs3.FH, name, path string) nfs3.FH {
	f.Helper()
	o, _, err := f.fs.Symlink(f.ctx, root, dir, name, path, &nfs3.Sattr{})
	f.ok(err)
	return o.File
}

func (f *fixture) fifo(dir nfs3.FH, name string) nfs3.FH {
	f.Helper()
	o, _, err := f.fs.Mknod(f.ctx, root, dir, name, nfs3.TypeFIFO, nfs3.Specdata{}, &nfs3.Sattr{})
	f.ok(err)
	return o.File
}

func (f *fixture) link(h, dir nfs3.FH, name string) {
	f.Helper()
	_, _, err := f.fs.Link(f.ctx, root, h, dir, name)
	f.ok(err)
}

func (f *fixture) remove(dir nfs3.FH, name string) {
	f.Helper()
	_, err := f.fs.Remove(f.ctx, root, dir, name)
	f.ok(err)
}

func (f *fixture) rmdir(dir nfs3.FH, name string) {
	f.Helper()
	_, err := f.fs.Rmdir(f.ctx, root, dir, name)
	f.ok(err)
}

func (f *fixture) rename(from nfs3.FH, fromName string, to nfs3.FH, toName string) {
	f.Helper()
	_, _, err := f.fs.Rename(f.ctx, root, from, fromName, to, toName)
	f.ok(err)
}

// wantName fails the test unless the name stands for h.
func (f *fixture) wantName(dir nfs3.FH, name string, h nfs3.FH) {
	f.Helper()
	o, _, err := f.fs.Lookup(f.ctx, root, dir, name)
	if err != nil || o.File != h {
		f.Errorf("lookup of %s: %v, %v; want %v", name, o.File, err, h)
	}
}

// wantNoName fails the test unless the name is not there.
func (f *fixture) wantNoName(dir nfs3.FH, name string) {
	f.Helper()
	_, _, err := f.fs.Lookup(f.ctx, root, dir, name)
	f.want("lookup of "+name+", which is not there", err, nfs3.ErrNoEnt)
}

// wantStale fails the test unless the file of h is gone.
func (f *fixture) wantStale(what string, h nfs3.FH) {
	f.Helper()
	_, err := f.fs.GetAttr(f.ctx, h)
	f.want(what, err, nfs3.ErrStale)
}

// wantLinks fails the test unless a directory has more links than before. Some file systems do not
// count the links of directories: there it is always 1.
func (f *fixture) wantLinks(what string, dir nfs3.FH, before nfs3.Fattr, more int) {
	f.Helper()
	want := int(before.Nlink) + more
	if before.Nlink == 1 {
		want = 1
	}
	if got := f.attr(dir).Nlink; int(got) != want {
		f.Errorf("%s: the directory has %d links, want %d", what, got, want)
	}
}
