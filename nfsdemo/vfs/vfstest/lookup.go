package vfstest

import (
	"encoding/binary"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

func testRoot(f *fixture) {
	h := f.fs.Root()
	if h != f.fs.Root() {
		f.Error("the root's handle changes")
	}
	a := f.attr(h)
	if a.Type != nfs3.TypeDir || a.Mode != 0o755 || a.UID != 0 || a.Nlink == 0 || a.FSID != f.fs.ID() || a.FileID == 0 {
		f.Errorf("%+v", a)
	}
	file := f.file("file")
	for _, h := range []nfs3.FH{h, file} {
		if binary.BigEndian.Uint64(h.Bytes()) != f.fs.ID() {
			f.Errorf("handle %v does not begin with the ID %x", h, f.fs.ID())
		}
	}
	if a := f.attr(file); a.FSID != f.fs.ID() {
		f.Errorf("another FSID: %+v", a)
	}
}

func testLookup(f *fixture) {
	d := f.dir("dir", 0o755)
	h := f.fileOf(root, d, "file", 0o640)
	o, dir, err := f.fs.Lookup(f.ctx, root, d, "file")
	f.want("lookup", err, nfs3.OK)
	if o.File != h || !o.Attr.Present || o.Attr.Attr != f.attr(h) || !dir.Present || dir.Attr != f.attr(d) {
		f.Errorf("%+v, %+v", o, dir)
	}
	if o, _, err := f.fs.Lookup(f.ctx, root, d, "."); err != nil || o.File != d {
		f.Errorf("dot: %v, %v", o, err)
	}
	if o, _, err := f.fs.Lookup(f.ctx, root, d, ".."); err != nil || o.File != f.fs.Root() {
		f.Errorf("dot dot: %v, %v", o, err)
	}
	if o, _, err := f.fs.Lookup(f.ctx, root, f.fs.Root(), ".."); err != nil || o.File != f.fs.Root() {
		f.Errorf("dot dot of the root: %v, %v", o, err)
	}
	_, dir, err = f.fs.Lookup(f.ctx, root, d, "File")
	f.want("lookup of what is not there", err, nfs3.ErrNoEnt)
	if !dir.Present {
		f.Error("no attributes of the directory with NOENT")
	}
	_, _, err = f.fs.Lookup(f.ctx, root, h, "x")
	f.want("lookup in a file", err, nfs3.ErrNotDir)
}
