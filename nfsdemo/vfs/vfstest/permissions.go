package vfstest

import (
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

var names = map[*vfs.Cred]string{root: "root", alice: "alice", bob: "bob", carol: "carol"}

// testPermissions: alice owns things; bob is in her group, carol is not, but is in one of
// alice's others.
func testPermissions(f *fixture) {
	const (
		ok   = nfs3.OK
		no   = nfs3.ErrAcces
		perm = nfs3.ErrPerm
	)
	read := func(c *vfs.Cred, h nfs3.FH) error {
		_, _, err := Read(f.ctx, f.fs, c, h, 0, 1)
		return err
	}
	write := func(c *vfs.Cred, h nfs3.FH) error {
		_, err := f.fs.Write(f.ctx, c, h, 0, Bulk([]byte("x")), nfs3.FileSync)
		return err
	}
	commit := func(c *vfs.Cred, h nfs3.FH) error {
		_, err := f.fs.Commit(f.ctx, c, h, 0, 0)
		return err
	}
	set := func(s nfs3.Sattr) func(*vfs.Cred, nfs3.FH) error {
		return func(c *vfs.Cred, h nfs3.FH) error {
			_, err := f.fs.SetAttr(f.ctx, c, h, &s, nil)
			return err
		}
	}
	now := nfs3.SetTime{How: nfs3.ToServerTime}
	then := nfs3.SetTime{How: nfs3.ToClientTime}
	to := func(id uint32) nfs3.Set32 { return nfs3.Set32{Set: true, To: id} }
	d := f.dir("dir", 0o777)
	for i, tt := range []struct {
		what                    string
		mode                    uint32
		do                      func(*vfs.Cred, nfs3.FH) error
		root, alice, bob, carol nfs3.Status
	}{
		{"read", 0o444, read, ok, ok, ok, ok},
		{"read", 0o440, read, ok, ok, ok, no},
		{"read", 0o400, read, ok, ok, no, no},
		{"read", 0o000, read, ok, ok, no, no}, // the owner always (RFC 1813 section 4.4)
		{"read", 0o404, read, ok, ok, no, ok}, // the class decides, not the sum
		{"read to execute", 0o111, read, ok, ok, ok, ok},
		{"write", 0o222, write, ok, ok, ok, ok},
		{"write", 0o220, write, ok, ok, ok, no},
		{"write", 0o200, write, ok, ok, no, no},
		{"write", 0o444, write, ok, ok, no, no},
		{"commit", 0o664, commit, ok, ok, ok, no},
		{"truncate", 0o664, set(setSize(0)), ok, ok, ok, no},
		{"chmod", 0o666, set(setMode(0o600)), ok, ok, perm, perm},
		{"times to now", 0o664, set(nfs3.Sattr{Mtime: now}), ok, ok, ok, no},
		{"times to then", 0o666, set(nfs3.Sattr{Atime: then}), ok, ok, perm, perm},
		{"chown", 0o666, set(nfs3.Sattr{UID: to(bob.UID)}), ok, perm, perm, perm},
		{"chown to herself", 0o666, set(nfs3.Sattr{UID: to(alice.UID)}), ok, ok, perm, perm},
		{"chgrp to a group of hers", 0o666, set(nfs3.Sattr{GID: to(501)}), ok, ok, perm, perm},
		{"chgrp to another", 0o666, set(nfs3.Sattr{GID: to(300)}), ok, perm, perm, perm},
	} {
		for c, want := range map[*vfs.Cred]nfs3.Status{root: tt.root, alice: tt.alice, bob: tt.bob, carol: tt.carol} {
			h := f.fileOf(alice, d, fmt.Sprint(i, names[c]), tt.mode)
			f.want(fmt.Sprintf("%s of mode %o by %s", tt.what, tt.mode, names[c]), tt.do(c, h), want)
		}
	}

	lookup := func(c *vfs.Cred, h nfs3.FH) error {
		_, _, err := f.fs.Lookup(f.ctx, c, h, "file")
		return err
	}
	list := func(c *vfs.Cred, h nfs3.FH) error {
		_, err := f.fs.ReadDir(f.ctx, c, h, 0, nfs3.Verifier{}, true, func(*nfs3.Entry) bool { return true })
		return err
	}
	create := func(c *vfs.Cred, h nfs3.FH) error {
		_, _, err := f.fs.Create(f.ctx, c, h, "new", &nfs3.CreateHow{})
		return err
	}
	mkdir := func(c *vfs.Cred, h nfs3.FH) error {
		_, _, err := f.fs.Mkdir(f.ctx, c, h, "new", &nfs3.Sattr{})
		return err
	}
	for i, tt := range []struct {
		what                    string
		mode                    uint32
		do                      func(*vfs.Cred, nfs3.FH) error
		root, alice, bob, carol nfs3.Status
	}{
		{"lookup", 0o751, lookup, ok, ok, ok, ok},
		{"lookup", 0o666, lookup, ok, no, no, no},
		{"list", 0o740, list, ok, ok, ok, no},
		{"list", 0o331, list, ok, no, no, no},
		{"create", 0o770, create, ok, ok, ok, no},
		{"create", 0o666, create, ok, no, no, no},
		{"mkdir", 0o775, mkdir, ok, ok, ok, no},
		{"mkdir", 0o555, mkdir, ok, no, no, no},
	} {
		for c, want := range map[*vfs.Cred]nfs3.Status{root: tt.root, alice: tt.alice, bob: tt.bob, carol: tt.carol} {
			mode := setMode(0o777)
			o, _, err := f.fs.Mkdir(f.ctx, alice, d, fmt.Sprint("dir", i, names[c]), &mode)
			f.ok(err)
			f.fileOf(alice, o.File, "file", 0o644)
			f.set(o.File, setMode(tt.mode))
			f.want(fmt.Sprintf("%s in mode %o by %s", tt.what, tt.mode, names[c]), tt.do(c, o.File), want)
		}
	}
}
