package vfstest

import (
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// testSetID: changing a file clears its set-user-ID and set-group-ID bits.
func testSetID(f *fixture) {
	const mode = nfs3.ModeSetUID | nfs3.ModeSetGID | 0o777
	d := f.dir("dir", 0o777)
	h := f.fileOf(root, d, "file", mode)
	if a := f.attr(h); a.Mode != mode {
		f.Fatalf("mode %o", a.Mode)
	}
	f.write(h, 0, []byte("by root"))
	if a := f.attr(h); a.Mode != mode {
		f.Errorf("written by root: mode %o", a.Mode)
	}
	_, err := f.fs.Write(f.ctx, bob, h, 0, Bulk([]byte("by bob")), nfs3.Unstable)
	f.ok(err)
	if a := f.attr(h); a.Mode != 0o777 {
		f.Errorf("written by bob: mode %o", a.Mode)
	}
	f.set(h, setMode(mode))
	f.set(h, setSize(5))
	if a := f.attr(h); a.Mode != mode {
		f.Errorf("cut by root: mode %o", a.Mode)
	}
	cut := setSize(3)
	_, err = f.fs.SetAttr(f.ctx, bob, h, &cut, nil)
	f.ok(err)
	if a := f.attr(h); a.Mode != 0o777 || a.Size != 3 {
		f.Errorf("cut by bob: mode %o, %d bytes", a.Mode, a.Size)
	}
	f.set(h, setMode(mode))
	_, _, err = f.fs.Create(f.ctx, bob, d, "file", &nfs3.CreateHow{Mode: nfs3.Unchecked, Set: setSize(0)})
	f.ok(err)
	if a := f.attr(h); a.Mode != 0o777 || a.Size != 0 {
		f.Errorf("created again by bob: mode %o, %d bytes", a.Mode, a.Size)
	}
	f.set(h, setMode(mode))
	f.set(h, nfs3.Sattr{UID: nfs3.Set32{Set: true, To: bob.UID}})
	if a := f.attr(h); a.Mode != 0o777 {
		f.Errorf("given away: mode %o", a.Mode)
	}
	// The group is none of bob's.
	f.set(h, nfs3.Sattr{GID: nfs3.Set32{Set: true, To: 4711}})
	set := setMode(mode)
	_, err = f.fs.SetAttr(f.ctx, bob, h, &set, nil)
	f.ok(err)
	if a := f.attr(h); a.Mode != nfs3.ModeSetUID|0o777 {
		f.Errorf("mode %o", a.Mode)
	}

	// An owner who gives a file to another group of hers, too; and that also takes them from a mode
	// that she sets in passing.
	own := f.fileOf(alice, d, "alice's", mode)
	chgrp := nfs3.Sattr{GID: nfs3.Set32{Set: true, To: 501}}
	_, err = f.fs.SetAttr(f.ctx, alice, own, &chgrp, nil)
	f.ok(err)
	if a := f.attr(own); a.Mode != 0o777 || a.GID != 501 {
		f.Errorf("given to another group: mode %o, group %d", a.Mode, a.GID)
	}
	both := setMode(mode)
	both.GID = nfs3.Set32{Set: true, To: 500}
	_, err = f.fs.SetAttr(f.ctx, alice, own, &both, nil)
	f.ok(err)
	if a := f.attr(own); a.Mode != 0o777 || a.GID != 500 {
		f.Errorf("given to another group with a mode: mode %o, group %d", a.Mode, a.GID)
	}

	// Where the group may not execute it, set-group-id lends nothing.
	locked := f.fileOf(alice, d, "locked", nfs3.ModeSetGID|0o666)
	_, err = f.fs.Write(f.ctx, alice, locked, 0, Bulk([]byte("by alice")), nfs3.Unstable)
	f.ok(err)
	if a := f.attr(locked); a.Mode != nfs3.ModeSetGID|0o666 {
		f.Errorf("without the right to execute: mode %o", a.Mode)
	}
}
