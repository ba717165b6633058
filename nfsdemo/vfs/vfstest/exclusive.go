package vfstest

import (
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// testExclusive: a repeated call succeeds like the first, and any other gets nfs3.ErrExist.
func testExclusive(f *fixture) {
	r := f.fs.Root()
	d := f.dir("dir", 0o777)
	for _, verf := range []nfs3.Verifier{
		{}, {1}, {0, 0, 0, 0, 0, 0, 0, 1}, {0x80, 0, 0, 0, 0x80}, {255, 255, 255, 255, 255, 255, 255, 255},
	} {
		how := nfs3.CreateHow{Mode: nfs3.Exclusive, Verf: verf}
		first, _, err := f.fs.Create(f.ctx, alice, d, "file", &how)
		f.want("first", err, nfs3.OK)
		a := f.attr(first.File)
		if a.Type != nfs3.TypeReg || a.Size != 0 ||
			a.UID != alice.UID || a.GID != alice.GID || first.Attr != nfs3.PostOpAttrOf(a) {
			f.Errorf("verifier %x: %+v", verf, a)
		}
		again, wcc, err := f.fs.Create(f.ctx, alice, d, "file", &how)
		f.want("repeated", err, nfs3.OK)
		if again.File != first.File {
			f.Errorf("repeated: another file")
		}
		f.wantSame(d, wcc)
		for i := range verf {
			other := verf
			other[i] ^= 1
			_, _, err := f.fs.Create(f.ctx, alice, d, "file", &nfs3.CreateHow{Mode: nfs3.Exclusive, Verf: other})
			f.want("another verifier", err, nfs3.ErrExist)
		}
		_, _, err = f.fs.Create(f.ctx, alice, d, "file", &nfs3.CreateHow{Mode: nfs3.Guarded})
		f.want("guarded", err, nfs3.ErrExist)
		another, _, err := f.fs.Create(f.ctx, alice, d, "other file", &how)
		f.want("another name", err, nfs3.OK)
		if another.File == first.File {
			f.Error("another name: the same file")
		}

		// What clients do next: the attributes. The owner may write the file from the beginning.
		set := setMode(0o640)
		set.Atime.How, set.Mtime.How = nfs3.ToServerTime, nfs3.ToServerTime
		_, err = f.fs.SetAttr(f.ctx, alice, first.File, &set, nil)
		f.want("attributes", err, nfs3.OK)
		_, err = f.fs.Write(f.ctx, alice, first.File, 0, Bulk([]byte("data")), nfs3.FileSync)
		f.want("write", err, nfs3.OK)
		if a := f.attr(first.File); a.Mode != 0o640 || a.Size != 4 {
			f.Errorf("verifier %x: %+v", verf, a)
		}

		// The verifier goes with the file, and not with its name.
		f.rename(d, "file", r, "renamed")
		next, _, err := f.fs.Create(f.ctx, alice, d, "file", &how)
		f.want("the name is free again", err, nfs3.OK)
		if next.File == first.File {
			f.Error("the name is free again: the file that had it")
		}
		f.remove(r, "renamed")
		f.remove(d, "file")
		f.remove(d, "other file")
	}

	f.symlink(d, "link", "missing")
	f.fifo(d, "fifo")
	f.mkdir(root, d, "sub", 0o755)
	for _, name := range []string{"link", "fifo", "sub"} {
		_, _, err := f.fs.Create(f.ctx, root, d, name, &nfs3.CreateHow{Mode: nfs3.Exclusive})
		f.want("exclusive over "+name, err, nfs3.ErrExist)
	}
	f.wantNames(d, "link", "fifo", "sub")
}
