package vfstest

import (
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

func testMkdir(f *fixture) {
	r := f.fs.Root()
	before := f.attr(r)
	set := setMode(0o750)
	set.Size = nfs3.Set64{Set: true, To: 5} // which means nothing
	o, wcc, err := f.fs.Mkdir(f.ctx, root, r, "dir", &set)
	f.ok(err)
	d := o.File
	a := f.attr(d)
	if a.Type != nfs3.TypeDir || a.Mode != 0o750 ||
		a.Nlink == 0 || a.Nlink > 2 || a.UID != 0 || o.Attr != nfs3.PostOpAttrOf(a) {
		f.Errorf("%+v", a)
	}
	if wcc.Before != before.Pre() || wcc.After != nfs3.PostOpAttrOf(f.attr(r)) {
		f.Errorf("%+v", wcc)
	}
	f.wantLinks("a directory was made", r, before, 1)
	f.file("file")
	f.wantLinks("a file is no link to the directory", r, before, 1)
	f.wantName(d, "..", r)
	f.wantNames(d)
	for _, name := range []string{"dir", "file"} {
		_, _, err = f.fs.Mkdir(f.ctx, root, r, name, &nfs3.Sattr{})
		f.want("mkdir of a name that is there", err, nfs3.ErrExist)
	}
	_, err = f.fs.Write(f.ctx, root, d, 0, Bulk([]byte("x")), nfs3.FileSync)
	f.want("write to a directory", err, nfs3.ErrIsDir)
	_, _, err = Read(f.ctx, f.fs, root, d, 0, 1)
	f.want("read of a directory", err, nfs3.ErrIsDir)
	set = setSize(0)
	_, err = f.fs.SetAttr(f.ctx, root, d, &set, nil)
	f.want("size of a directory", err, nfs3.ErrIsDir)
}

// testSetGIDDirectory: new files in a set-group-ID directory get its group.
func testSetGIDDirectory(f *fixture) {
	d := f.dir("dir", 0o2777)
	f.set(d, nfs3.Sattr{GID: nfs3.Set32{Set: true, To: 777}, Mode: nfs3.Set32{Set: true, To: 0o2777}})
	file := f.fileOf(alice, d, "file", 0o644)
	if a := f.attr(file); a.GID != 777 || a.Mode != 0o644 {
		f.Errorf("file: %+v", a)
	}
	set := setMode(0o755)
	o, _, err := f.fs.Mkdir(f.ctx, alice, d, "sub", &set)
	f.ok(err)
	if a := f.attr(o.File); a.GID != 777 || a.Mode != 0o2755 {
		f.Errorf("directory: %+v", a)
	}
	o, _, err = f.fs.Symlink(f.ctx, alice, d, "link", "path", &nfs3.Sattr{})
	f.ok(err)
	if a := f.attr(o.File); a.UID != alice.UID || a.GID != 777 {
		f.Errorf("symbolic link: %+v", a)
	}
	o, _, err = f.fs.Mknod(f.ctx, alice, d, "fifo", nfs3.TypeFIFO, nfs3.Specdata{}, &nfs3.Sattr{})
	f.ok(err)
	if a := f.attr(o.File); a.UID != alice.UID || a.GID != 777 {
		f.Errorf("FIFO: %+v", a)
	}
	// What moves there keeps its group.
	other := f.dir("other", 0o777)
	moves := f.fileOf(alice, other, "moves", 0o644)
	f.rename(other, "moves", d, "moves")
	if a := f.attr(moves); a.GID != alice.GID {
		f.Errorf("moved: %+v", a)
	}
}
