package vfstest

import (
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

func testCreate(f *fixture) {
	d := f.dir("dir", 0o777)
	o, wcc, err := f.fs.Create(f.ctx, alice, d, "file", &nfs3.CreateHow{Mode: nfs3.Unchecked, Set: setMode(0o640)})
	f.want("create", err, nfs3.OK)
	a := f.attr(o.File)
	if a.Type != nfs3.TypeReg || a.Mode != 0o640 ||
		a.UID != alice.UID || a.GID != alice.GID || a.Nlink != 1 || a.Size != 0 {
		f.Errorf("%+v", a)
	}
	if o.Attr != nfs3.PostOpAttrOf(a) || wcc.After != nfs3.PostOpAttrOf(f.attr(d)) {
		f.Errorf("attributes: %+v, %+v", o, wcc)
	}
	set := setMode(0o600)
	set.Size = nfs3.Set64{Set: true, To: 1000}
	set.Mtime = nfs3.SetTime{How: nfs3.ToClientTime, To: nfs3.Time{Sec: 5, Nsec: 6}}
	set.GID = nfs3.Set32{Set: true, To: 501}
	o, _, err = f.fs.Create(f.ctx, alice, d, "with attributes", &nfs3.CreateHow{Mode: nfs3.Guarded, Set: set})
	f.want("create with attributes", err, nfs3.OK)
	if a := f.attr(o.File); a.Size != 1000 || a.Mtime != set.Mtime.To || a.GID != 501 {
		f.Errorf("%+v", a)
	}
	set.UID = nfs3.Set32{Set: true, To: bob.UID}
	_, _, err = f.fs.Create(f.ctx, alice, d, "bob's", &nfs3.CreateHow{Mode: nfs3.Guarded, Set: set})
	f.want("create for another", err, nfs3.ErrPerm)
	_, _, err = f.fs.Lookup(f.ctx, root, d, "bob's")
	f.want("lookup of what was not created", err, nfs3.ErrNoEnt)
}

func testCreateExisting(f *fixture) {
	r := f.fs.Root()
	verf, other := nfs3.Verifier{1, 2, 3}, nfs3.Verifier{1, 2, 4}
	plain := f.file("plain")
	f.write(plain, 0, []byte("data"))
	f.dir("dir", 0o755)
	o, _, err := f.fs.Create(f.ctx, root, r, "exclusive", &nfs3.CreateHow{Mode: nfs3.Exclusive, Verf: verf})
	f.ok(err)
	exclusive := o.File

	truncate := setMode(0o777)
	truncate.Size = nfs3.Set64{Set: true}
	for _, tt := range []struct {
		what string
		name string
		how  nfs3.CreateHow
		want nfs3.Status
		is   nfs3.FH
	}{
		{"unchecked", "plain", nfs3.CreateHow{Mode: nfs3.Unchecked, Set: setMode(0o777)}, nfs3.OK, plain},
		{"guarded", "plain", nfs3.CreateHow{Mode: nfs3.Guarded}, nfs3.ErrExist, nfs3.FH{}},
		{"exclusive over plain", "plain", nfs3.CreateHow{Mode: nfs3.Exclusive, Verf: verf}, nfs3.ErrExist, nfs3.FH{}},
		{"exclusive over plain, verifier 0", "plain", nfs3.CreateHow{Mode: nfs3.Exclusive}, nfs3.ErrExist, nfs3.FH{}},
		{"exclusive again", "exclusive", nfs3.CreateHow{Mode: nfs3.Exclusive, Verf: verf}, nfs3.OK, exclusive},
		{
			"exclusive, another's", "exclusive",
			nfs3.CreateHow{Mode: nfs3.Exclusive, Verf: other}, nfs3.ErrExist, nfs3.FH{},
		},
		{"unchecked over a directory", "dir", nfs3.CreateHow{Mode: nfs3.Unchecked}, nfs3.ErrExist, nfs3.FH{}},
	} {
		o, wcc, err := f.fs.Create(f.ctx, root, r, tt.name, &tt.how)
		f.want(tt.what, err, tt.want)
		if o.File != tt.is || !wcc.Before.Present || !wcc.After.Present {
			f.Errorf("%s: %+v, %+v", tt.what, o, wcc)
		}
	}
	if a := f.attr(plain); a.Mode != 0o644 || a.Size != 4 {
		f.Errorf("creating changed the file: %+v", a)
	}
	_, _, err = f.fs.Create(f.ctx, alice, r, "plain", &nfs3.CreateHow{Set: truncate})
	f.want("truncating another's file", err, nfs3.ErrAcces)
	_, _, err = f.fs.Create(f.ctx, root, r, "plain", &nfs3.CreateHow{Set: truncate})
	f.want("truncating", err, nfs3.OK)
	if a := f.attr(plain); a.Mode != 0o644 || a.Size != 0 {
		f.Errorf("creating with size 0: %+v", a)
	}
}
