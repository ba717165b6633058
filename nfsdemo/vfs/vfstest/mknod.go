package vfstest

import (
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

func testMknod(f *fixture) {
	d := f.dir("dir", 0o777)
	numbers := nfs3.Specdata{Major: 1, Minor: 3}
	for i, tt := range []struct {
		c    *vfs.Cred
		kind nfs3.FileType
		want nfs3.Status
	}{
		{root, nfs3.TypeFIFO, nfs3.OK},
		{root, nfs3.TypeSock, nfs3.OK},
		{root, nfs3.TypeChr, nfs3.OK},
		{root, nfs3.TypeBlk, nfs3.OK},
		{alice, nfs3.TypeFIFO, nfs3.OK},
		{alice, nfs3.TypeSock, nfs3.OK},
		{alice, nfs3.TypeChr, nfs3.ErrPerm},
		{alice, nfs3.TypeBlk, nfs3.ErrPerm},
		{root, nfs3.TypeReg, nfs3.ErrBadType},
		{root, nfs3.TypeDir, nfs3.ErrBadType},
		{root, nfs3.TypeLnk, nfs3.ErrBadType},
		{root, 0, nfs3.ErrBadType},
		{root, 8, nfs3.ErrBadType},
		{alice, nfs3.TypeReg, nfs3.ErrBadType},
	} {
		name := fmt.Sprint(i)
		what := fmt.Sprintf("type %d by %s", tt.kind, names[tt.c])
		before := f.attr(d)
		set := setMode(0o640)
		o, wcc, err := f.fs.Mknod(f.ctx, tt.c, d, name, tt.kind, numbers, &set)
		f.want(what, err, tt.want)
		if wcc.Before != before.Pre() || wcc.After != nfs3.PostOpAttrOf(f.attr(d)) {
			f.Errorf("%s: %+v", what, wcc)
		}
		if tt.want != nfs3.OK {
			f.wantNoName(d, name)
			continue
		}
		a := f.attr(o.File)
		if a.Type != tt.kind || a.Mode != 0o640 ||
			a.UID != tt.c.UID || a.GID != tt.c.GID ||
			a.Nlink != 1 || a.Size != 0 || o.Attr != nfs3.PostOpAttrOf(a) {
			f.Errorf("%s: %+v", what, a)
		}
		if device := tt.kind == nfs3.TypeChr || tt.kind == nfs3.TypeBlk; device && a.Rdev != numbers {
			f.Errorf("%s: device %+v, want %+v", what, a.Rdev, numbers)
		}
		f.wantName(d, name, o.File)
		_, _, err = f.fs.Mknod(f.ctx, root, d, name, nfs3.TypeFIFO, nfs3.Specdata{}, &set)
		f.want("name that is there", err, nfs3.ErrExist)
		_, _, err = f.fs.Create(f.ctx, root, d, name, &nfs3.CreateHow{Mode: nfs3.Unchecked})
		f.want("create over "+what, err, nfs3.ErrExist)
		f.remove(d, name)
		f.wantStale(what, o.File)
	}
}
