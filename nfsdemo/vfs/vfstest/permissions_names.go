package vfstest

import (
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// testNamePermissions: a caller who may write and search a directory may add and remove names,
// whoever owns the files. The directory belongs to alice, and to a supplementary group of alice and
// carol.
func testNamePermissions(f *fixture) {
	const (
		ok = nfs3.OK
		no = nfs3.ErrAcces
	)
	r := f.fs.Root()
	free := f.dir("free", 0o777)
	for name, do := range map[string]func(c *vfs.Cred, d nfs3.FH) error{
		"create": func(c *vfs.Cred, d nfs3.FH) error {
			_, _, err := f.fs.Create(f.ctx, c, d, "new", &nfs3.CreateHow{})
			return err
		},
		"create exclusively": func(c *vfs.Cred, d nfs3.FH) error {
			_, _, err := f.fs.Create(f.ctx, c, d, "new", &nfs3.CreateHow{Mode: nfs3.Exclusive})
			return err
		},
		"mkdir": func(c *vfs.Cred, d nfs3.FH) error {
			_, _, err := f.fs.Mkdir(f.ctx, c, d, "new", &nfs3.Sattr{})
			return err
		},
		"symlink": func(c *vfs.Cred, d nfs3.FH) error {
			_, _, err := f.fs.Symlink(f.ctx, c, d, "new", "path", &nfs3.Sattr{})
			return err
		},
		"mknod": func(c *vfs.Cred, d nfs3.FH) error {
			_, _, err := f.fs.Mknod(f.ctx, c, d, "new", nfs3.TypeSock, nfs3.Specdata{}, &nfs3.Sattr{})
			return err
		},
		"link": func(c *vfs.Cred, d nfs3.FH) error {
			h, _, err := f.fs.Create(f.ctx, root, r, "linked", &nfs3.CreateHow{})
			f.ok(err)
			_, _, err = f.fs.Link(f.ctx, c, h.File, d, "new")
			return err
		},
		"remove": func(c *vfs.Cred, d nfs3.FH) error {
			_, err := f.fs.Remove(f.ctx, c, d, "file")
			return err
		},
		"rmdir": func(c *vfs.Cred, d nfs3.FH) error {
			_, err := f.fs.Rmdir(f.ctx, c, d, "sub")
			return err
		},
		"rename": func(c *vfs.Cred, d nfs3.FH) error {
			_, _, err := f.fs.Rename(f.ctx, c, d, "file", d, "new")
			return err
		},
		"rename of a directory": func(c *vfs.Cred, d nfs3.FH) error {
			_, _, err := f.fs.Rename(f.ctx, c, d, "sub", d, "new")
			return err
		},
		"rename from": func(c *vfs.Cred, d nfs3.FH) error {
			_, _, err := f.fs.Rename(f.ctx, c, d, "file", free, "new")
			return err
		},
		"rename to": func(c *vfs.Cred, d nfs3.FH) error {
			_, _, err := f.fs.Create(f.ctx, root, free, "new", &nfs3.CreateHow{})
			f.ok(err)
			_, _, err = f.fs.Rename(f.ctx, c, free, "new", d, "file")
			return err
		},
	} {
		for _, tt := range []struct {
			mode                    uint32
			root, alice, bob, carol nfs3.Status
		}{
			{0o777, ok, ok, ok, ok},
			{0o770, ok, ok, no, ok},
			{0o707, ok, ok, ok, no}, // the class decides, not the sum
			{0o077, ok, no, ok, ok},
			{0o555, ok, no, no, no}, // no writing
			{0o666, ok, no, no, no}, // no searching
			{0o000, ok, no, no, no},
		} {
			for c, want := range map[*vfs.Cred]nfs3.Status{
				root: tt.root, alice: tt.alice, bob: tt.bob, carol: tt.carol,
			} {
				what := fmt.Sprintf("%s in mode %o by %s", name, tt.mode, names[c])
				d := f.dir(what, 0o755)
				f.fileOf(root, d, "file", 0o600)
				f.mkdir(root, d, "sub", 0o700)
				set := setMode(tt.mode)
				set.UID = nfs3.Set32{Set: true, To: alice.UID}
				set.GID = nfs3.Set32{Set: true, To: 501}
				f.set(d, set)
				f.want(what, do(c, d), want)
			}
		}
	}
}

// testSearchPermission: a caller who may not search a directory does not learn which names exist,
// and gets no file, even if he may write it.
func testSearchPermission(f *fixture) {
	d, free := f.dir("dir", 0o777), f.dir("free", 0o777)
	verf := nfs3.Verifier{1}
	_, _, err := f.fs.Create(f.ctx, bob, d, "there", &nfs3.CreateHow{Mode: nfs3.Exclusive, Verf: verf})
	f.ok(err)
	f.mkdir(bob, d, "sub", 0o777)
	linked := f.fileOf(bob, free, "file", 0o666)
	f.set(d, setMode(0o666))
	for _, name := range []string{"there", "sub", "none"} {
		for what, do := range map[string]func() error{
			"lookup": func() error {
				_, _, err := f.fs.Lookup(f.ctx, bob, d, name)
				return err
			},
			"create": func() error {
				_, _, err := f.fs.Create(f.ctx, bob, d, name, &nfs3.CreateHow{Mode: nfs3.Unchecked})
				return err
			},
			"create guarded": func() error {
				_, _, err := f.fs.Create(f.ctx, bob, d, name, &nfs3.CreateHow{Mode: nfs3.Guarded})
				return err
			},
			"create exclusively": func() error {
				_, _, err := f.fs.Create(f.ctx, bob, d, name, &nfs3.CreateHow{Mode: nfs3.Exclusive, Verf: verf})
				return err
			},
			"mkdir": func() error {
				_, _, err := f.fs.Mkdir(f.ctx, bob, d, name, &nfs3.Sattr{})
				return err
			},
			"link": func() error {
				_, _, err := f.fs.Link(f.ctx, bob, linked, d, name)
				return err
			},
			"remove": func() error {
				_, err := f.fs.Remove(f.ctx, bob, d, name)
				return err
			},
			"rmdir": func() error {
				_, err := f.fs.Rmdir(f.ctx, bob, d, name)
				return err
			},
			"rename from": func() error {
				_, _, err := f.fs.Rename(f.ctx, bob, d, name, free, "new")
				return err
			},
			"rename to": func() error {
				_, _, err := f.fs.Rename(f.ctx, bob, free, "file", d, name)
				return err
			},
		} {
			f.want(what+" "+name, do(), nfs3.ErrAcces)
		}
	}
	f.wantNames(d, "there", "sub")
}

// testMovePermissions: moving a directory changes its "..", so the caller needs permission to write
// it.
func testMovePermissions(f *fixture) {
	one, two := f.dir("one", 0o777), f.dir("two", 0o777)
	for i, tt := range []struct {
		mode uint32
		c    *vfs.Cred
		want nfs3.Status
	}{
		{0o755, root, nfs3.OK},
		{0o755, alice, nfs3.OK},
		{0o755, bob, nfs3.ErrAcces},
		{0o775, bob, nfs3.OK},
		{0o775, carol, nfs3.ErrAcces},
		{0o777, carol, nfs3.OK},
		{0o555, alice, nfs3.ErrAcces},
	} {
		name := fmt.Sprint(i)
		what := fmt.Sprintf("a directory of mode %o by %s", tt.mode, names[tt.c])
		f.mkdir(alice, one, name, tt.mode)
		_, _, err := f.fs.Rename(f.ctx, tt.c, one, name, one, name+" renamed")
		f.want("rename of "+what, err, nfs3.OK)
		_, _, err = f.fs.Rename(f.ctx, tt.c, one, name+" renamed", two, name)
		f.want("move of "+what, err, tt.want)
		f.fileOf(alice, one, name, 0o444)
		_, _, err = f.fs.Rename(f.ctx, tt.c, one, name, two, name+" file")
		f.want("move of a file", err, nfs3.OK)
	}
}
