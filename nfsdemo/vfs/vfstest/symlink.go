package vfstest

import (
	"strings"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

func testSymlink(f *fixture) {
	r := f.fs.Root()
	if f.fs.Info().Properties&nfs3.FSFSymlink == 0 {
		f.Error("the file system says that it has no symbolic links")
	}
	for i, tt := range []struct {
		path string
		want nfs3.Status
	}{
		{"a", nfs3.OK},
		{"/", nfs3.OK},
		{"../../../../etc/passwd", nfs3.OK},
		{"missing/../file\n\xff", nfs3.OK},
		{strings.Repeat("0123456789", 100), nfs3.OK},
		{strings.Repeat("p", 4095), nfs3.OK},
		{strings.Repeat("d/", 2047), nfs3.OK},
		{strings.Repeat("p", 4096), nfs3.ErrNameTooLong},
		{strings.Repeat("p", 100000), nfs3.ErrNameTooLong},
		{"", nfs3.ErrInval},
		{"\x00", nfs3.ErrInval},
		{"a\x00b", nfs3.ErrInval},
	} {
		name := "link" + string(rune('a'+i))
		before := f.attr(r)
		set := setMode(0o600)
		o, wcc, err := f.fs.Symlink(f.ctx, root, r, name, tt.path, &set)
		f.want("symlink to "+tt.path[:min(len(tt.path), 20)], err, tt.want)
		if wcc.Before != before.Pre() || wcc.After != nfs3.PostOpAttrOf(f.attr(r)) {
			f.Errorf("%s: %+v", name, wcc)
		}
		if tt.want != nfs3.OK {
			f.wantNoName(r, name)
			continue
		}
		a := f.attr(o.File)
		if a.Type != nfs3.TypeLnk || a.Nlink != 1 || a.Size != uint64(len(tt.path)) || o.Attr != nfs3.PostOpAttrOf(a) {
			f.Errorf("link to %d bytes: %+v", len(tt.path), a)
		}
		got, attr, err := f.fs.ReadLink(f.ctx, carol, o.File)
		f.want("readlink", err, nfs3.OK)
		if got != tt.path || !attr.Present || attr.Attr.FileID != a.FileID {
			f.Errorf("link to %d bytes: read %d bytes, %+v", len(tt.path), len(got), attr)
		}
	}

	// A link is never followed: not in a lookup, nor by what is done to it.
	d := f.dir("dir", 0o755)
	file := f.fileOf(root, d, "file", 0o644)
	before := f.attr(file)
	link := f.symlink(d, "link", "file")
	f.wantName(d, "link", link)
	f.set(link, nfs3.Sattr{UID: nfs3.Set32{Set: true, To: alice.UID}, Mode: nfs3.Set32{Set: true, To: 0}})
	f.set(link, nfs3.Sattr{Mtime: nfs3.SetTime{How: nfs3.ToClientTime, To: nfs3.Time{Sec: 99, Nsec: 100}}})
	if a := f.attr(link); a.UID != alice.UID || a.Mtime != (nfs3.Time{Sec: 99, Nsec: 100}) {
		f.Errorf("link: %+v", a)
	}
	if a := f.attr(file); a != before {
		f.Errorf("what a link leads to: %+v, then %+v", before, a)
	}
	toDir := f.symlink(r, "to dir", "dir")
	_, _, err := f.fs.Lookup(f.ctx, root, toDir, "file")
	f.want("lookup in a link to a directory", err, nfs3.ErrNotDir)
	_, _, err = f.fs.Create(f.ctx, root, d, "link", &nfs3.CreateHow{Mode: nfs3.Unchecked})
	f.want("create over a link", err, nfs3.ErrExist)
	dangling := f.symlink(d, "dangling", "new")
	_, _, err = f.fs.Create(f.ctx, root, d, "dangling", &nfs3.CreateHow{Mode: nfs3.Unchecked})
	f.want("create over a dangling link", err, nfs3.ErrExist)
	f.wantName(d, "dangling", dangling)
	f.wantNoName(d, "new")
	_, _, err = f.fs.Symlink(f.ctx, root, d, "dangling", "other", &nfs3.Sattr{})
	f.want("symlink over a link", err, nfs3.ErrExist)

	set := nfs3.Sattr{UID: nfs3.Set32{Set: true, To: alice.UID}, GID: nfs3.Set32{Set: true, To: alice.GID}}
	o, _, err := f.fs.Symlink(f.ctx, root, d, "alice's", "path", &set)
	f.ok(err)
	if a := f.attr(o.File); a.UID != alice.UID || a.GID != alice.GID {
		f.Errorf("link for alice: %+v", a)
	}
}
