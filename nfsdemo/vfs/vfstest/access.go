package vfstest

import (
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

func testAccess(f *fixture) {
	const (
		r  = nfs3.AccessRead
		w  = nfs3.AccessModify | nfs3.AccessExtend
		x  = nfs3.AccessExecute
		l  = nfs3.AccessLookup
		dw = nfs3.AccessModify | nfs3.AccessExtend | nfs3.AccessDelete
	)
	d := f.dir("dir", 0o777)
	for i, tt := range []struct {
		dir                     bool
		mode                    uint32
		root, alice, bob, carol nfs3.Access
	}{
		{false, 0o755, r | w | x, r | w | x, r | x, r | x},
		{false, 0o640, r | w, r | w, r, 0},
		{false, 0o000, r | w, 0, 0, 0},
		{false, 0o071, r | w | x, 0, r | w | x, x},
		{true, 0o755, r | l | dw, r | l | dw, r | l, r | l},
		{true, 0o620, r | l | dw, r, 0, 0},
		{true, 0o711, r | l | dw, r | l | dw, l, l},
	} {
		name, set := fmt.Sprint(i), setMode(tt.mode)
		var h nfs3.FH
		if tt.dir {
			o, _, err := f.fs.Mkdir(f.ctx, alice, d, name, &set)
			f.ok(err)
			h = o.File
		} else {
			h = f.fileOf(alice, d, name, tt.mode)
		}
		for c, want := range map[*vfs.Cred]nfs3.Access{root: tt.root, alice: tt.alice, bob: tt.bob, carol: tt.carol} {
			for _, mask := range []nfs3.Access{nfs3.AccessAll, 0, nfs3.AccessRead, ^nfs3.Access(0)} {
				got, attr, err := f.fs.Access(f.ctx, c, h, mask)
				f.ok(err)
				if got != want&mask || !attr.Present {
					f.Errorf("directory %v, mode %o, %s: %#x of %#x, want %#x",
						tt.dir, tt.mode, names[c], got, mask, want&mask)
				}
			}
		}
	}
}

// testAccessKinds: files cannot be searched, directories cannot be executed, and a caller that asks
// for no rights gets none.
func testAccessKinds(f *fixture) {
	const (
		inDirs = nfs3.AccessLookup | nfs3.AccessDelete
		all    = nfs3.AccessAll
	)
	r := f.fs.Root()
	for what, h := range map[string]nfs3.FH{
		"root": r, "directory": f.dir("dir", 0o777), "file": f.fileOf(root, r, "file", 0o777),
		"link": f.symlink(r, "link", "path"), "FIFO": f.fifo(r, "fifo"),
	} {
		a := f.attr(h)
		never := inDirs
		if a.Type == nfs3.TypeDir {
			never = nfs3.AccessExecute
		}
		for _, c := range []*vfs.Cred{root, alice} {
			got, attr, err := f.fs.Access(f.ctx, c, h, ^nfs3.Access(0))
			f.ok(err)
			if got&never != 0 || got&^all != 0 ||
				got&nfs3.AccessRead == 0 && a.Mode&0o444 == 0o444 || attr != nfs3.PostOpAttrOf(a) {
				f.Errorf("%s, mode %o, by %s: %#x, %+v", what, a.Mode, names[c], got, attr)
			}
		}
	}
}
