package vfstest

import (
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

func testLink(f *fixture) {
	r := f.fs.Root()
	d := f.dir("dir", 0o755)
	if f.fs.Info().Properties&nfs3.FSFLink == 0 {
		f.Error("the file system says that it has no hard links")
	}
	for what, h := range map[string]nfs3.FH{
		"file": f.file("file"), "symbolic link": f.symlink(r, "link", "path"), "FIFO": f.fifo(r, "fifo"),
	} {
		before, dir := f.attr(h), f.attr(d)
		attr, wcc, err := f.fs.Link(f.ctx, root, h, d, "new "+what)
		f.want("link to a "+what, err, nfs3.OK)
		a := f.attr(h)
		if attr != nfs3.PostOpAttrOf(a) || wcc.Before != dir.Pre() || wcc.After != nfs3.PostOpAttrOf(f.attr(d)) {
			f.Errorf("link to a %s: %+v, %+v", what, attr, wcc)
		}
		if a.Nlink != 2 || a.FileID != before.FileID ||
			a.Mtime != before.Mtime || a.Ctime.Nanos() < before.Ctime.Nanos() {
			f.Errorf("link to a %s: %+v, then %+v", what, before, a)
		}
		f.wantName(d, "new "+what, h)
	}
	// What is written by one name is read by the other.
	file, _, err := f.fs.Lookup(f.ctx, root, r, "file")
	f.ok(err)
	other, _, err := f.fs.Lookup(f.ctx, root, d, "new file")
	f.ok(err)
	f.write(file.File, 0, []byte("data"))
	if got, _ := f.read(other.File, 0, 10); string(got) != "data" {
		f.Errorf("%q", got)
	}

	before, dir := f.attr(file.File), f.attr(d)
	for _, tt := range []struct {
		what string
		h    nfs3.FH
		name string
		want nfs3.Status
	}{
		{"link to a directory", d, "new", nfs3.ErrIsDir},
		{"link to the root directory", r, "new", nfs3.ErrIsDir},
		{"name that is there", file.File, "new file", nfs3.ErrExist},
		{"name of a dangling symbolic link", file.File, "new symbolic link", nfs3.ErrExist},
		{"name that is there", file.File, ".", nfs3.ErrExist},
	} {
		_, wcc, err := f.fs.Link(f.ctx, root, tt.h, d, tt.name)
		f.want(tt.what, err, tt.want)
		if wcc.Before != dir.Pre() || wcc.After != nfs3.PostOpAttrOf(f.attr(d)) {
			f.Errorf("%s: %+v", tt.what, wcc)
		}
	}
	if a := f.attr(file.File); a != before {
		f.Errorf("failing links changed the file: %+v, then %+v", before, a)
	}
	f.wantNames(d, "new file", "new symbolic link", "new FIFO")
}
