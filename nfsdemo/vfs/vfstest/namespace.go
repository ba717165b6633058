package vfstest

import (
	"encoding/binary"
	"math/rand/v2"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

func testRoot(f *fixture) {
	h := f.fs.Root()
	if h != f.fs.Root() {
		f.Error("the root's handle changes")
	}
	a := f.attr(h)
	if a.Type != nfs3.TypeDir || a.Mode != 0o755 || a.UID != 0 || a.Nlink < 2 || a.FSID != f.fs.ID() || a.FileID == 0 {
		f.Errorf("%+v", a)
	}
	file := f.file("file")
	for _, h := range []nfs3.FH{h, file} {
		if binary.BigEndian.Uint64(h.Bytes()) != f.fs.ID() {
			f.Errorf("handle %v does not begin with the ID %x", h, f.fs.ID())
		}
	}
	if a := f.attr(file); a.FSID != f.fs.ID() {
		f.Errorf("another FSID: %+v", a)
	}
}

// testHandles: handles that were not handed out are refused, by every method.
func testHandles(f *fixture) {
	good := f.file("file")
	bad := []nfs3.FH{{}, nfs3.MakeFH([]byte{1}), nfs3.MakeFH(make([]byte, nfs3.FHSize)),
		nfs3.MakeFH(good.Bytes()[:good.Len()-1]), nfs3.MakeFH(append(good.Bytes(), 0))}
	for i := range 8 * good.Len() {
		b := []byte(string(good.Bytes()))
		b[i/8] ^= 1 << (i % 8)
		bad = append(bad, nfs3.MakeFH(b))
	}
	for _, h := range bad {
		for name, err := range f.everything(h) {
			if err != nfs3.ErrBadHandle && err != nfs3.ErrStale {
				f.Errorf("%s of handle %v: %v", name, h, err)
			}
		}
	}
	for name, err := range f.everything(good) {
		if err == nfs3.ErrBadHandle || err == nfs3.ErrStale {
			f.Errorf("%s of a good handle: %v", name, err)
		}
	}
}

// everything calls each method that takes a handle.
func (f *fixture) everything(h nfs3.FH) map[string]error {
	all := make(map[string]error)
	_, all["GetAttr"] = f.fs.GetAttr(f.ctx, h)
	_, all["SetAttr"] = f.fs.SetAttr(f.ctx, root, h, &nfs3.Sattr{}, nil)
	_, _, all["Lookup"] = f.fs.Lookup(f.ctx, root, h, "x")
	_, _, all["Access"] = f.fs.Access(f.ctx, root, h, nfs3.AccessAll)
	_, _, all["Read"] = Read(f.ctx, f.fs, root, h, 0, 1)
	_, all["Write"] = f.fs.Write(f.ctx, root, h, 0, Bulk([]byte("x")), nfs3.Unstable)
	_, all["Commit"] = f.fs.Commit(f.ctx, root, h, 0, 0)
	_, _, all["Create"] = f.fs.Create(f.ctx, root, h, "x", &nfs3.CreateHow{})
	_, _, all["Mkdir"] = f.fs.Mkdir(f.ctx, root, h, "x", &nfs3.Sattr{})
	_, all["ReadDir"] = f.fs.ReadDir(f.ctx, root, h, 0, nfs3.Verifier{}, true, func(*nfs3.Entry) bool { return true })
	_, _, all["StatFS"] = f.fs.StatFS(f.ctx, h)
	return all
}

func testNames(f *fixture) {
	r := f.fs.Root()
	for _, tt := range []struct {
		name string
		want nfs3.Status
	}{
		{"a", nfs3.OK},
		{"...", nfs3.OK},
		{" ", nfs3.OK},
		{"name\nwith\xffbytes", nfs3.OK},
		{strings.Repeat("n", 255), nfs3.OK},
		{"", nfs3.ErrAcces},
		{"a/b", nfs3.ErrAcces},
		{"/", nfs3.ErrAcces},
		{"a\x00b", nfs3.ErrAcces},
		{strings.Repeat("n", 256), nfs3.ErrNameTooLong},
		{strings.Repeat("n", 100000), nfs3.ErrNameTooLong},
		{".", nfs3.ErrExist},
		{"..", nfs3.ErrExist},
	} {
		short := tt.name[:min(len(tt.name), 10)]
		_, _, err := f.fs.Create(f.ctx, root, r, tt.name, &nfs3.CreateHow{Mode: nfs3.Guarded})
		f.want("create "+short, err, tt.want)
		want := tt.want
		if want == nfs3.OK {
			want = nfs3.ErrExist
		}
		_, _, err = f.fs.Mkdir(f.ctx, root, r, tt.name, &nfs3.Sattr{})
		f.want("mkdir "+short, err, want)
		if want = tt.want; want == nfs3.ErrExist {
			want = nfs3.OK
		}
		_, _, err = f.fs.Lookup(f.ctx, root, r, tt.name)
		f.want("lookup "+short, err, want)
	}
}

func testLookup(f *fixture) {
	d := f.dir("dir", 0o755)
	h := f.fileOf(root, d, "file", 0o640)
	o, dir, err := f.fs.Lookup(f.ctx, root, d, "file")
	f.want("lookup", err, nfs3.OK)
	if o.File != h || !o.Attr.Present || o.Attr.Attr != f.attr(h) || !dir.Present || dir.Attr != f.attr(d) {
		f.Errorf("%+v, %+v", o, dir)
	}
	if o, _, err := f.fs.Lookup(f.ctx, root, d, "."); err != nil || o.File != d {
		f.Errorf("dot: %v, %v", o, err)
	}
	if o, _, err := f.fs.Lookup(f.ctx, root, d, ".."); err != nil || o.File != f.fs.Root() {
		f.Errorf("dot dot: %v, %v", o, err)
	}
	if o, _, err := f.fs.Lookup(f.ctx, root, f.fs.Root(), ".."); err != nil || o.File != f.fs.Root() {
		f.Errorf("dot dot of the root: %v, %v", o, err)
	}
	_, dir, err = f.fs.Lookup(f.ctx, root, d, "File")
	f.want("lookup of what is not there", err, nfs3.ErrNoEnt)
	if !dir.Present {
		f.Error("no attributes of the directory with NOENT")
	}
	_, _, err = f.fs.Lookup(f.ctx, root, h, "x")
	f.want("lookup in a file", err, nfs3.ErrNotDir)
}

func testCreate(f *fixture) {
	d := f.dir("dir", 0o777)
	o, wcc, err := f.fs.Create(f.ctx, alice, d, "file", &nfs3.CreateHow{Mode: nfs3.Unchecked, Set: setMode(0o640)})
	f.want("create", err, nfs3.OK)
	a := f.attr(o.File)
	if a.Type != nfs3.TypeReg || a.Mode != 0o640 || a.UID != alice.UID || a.GID != alice.GID || a.Nlink != 1 || a.Size != 0 {
		f.Errorf("%+v", a)
	}
	if o.Attr != nfs3.Attrs(a) || wcc.After != nfs3.Attrs(f.attr(d)) {
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
		{"exclusive, another's", "exclusive", nfs3.CreateHow{Mode: nfs3.Exclusive, Verf: other}, nfs3.ErrExist, nfs3.FH{}},
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

func testMkdir(f *fixture) {
	r := f.fs.Root()
	before := f.attr(r)
	d := f.dir("dir", 0o750)
	a := f.attr(d)
	if a.Type != nfs3.TypeDir || a.Mode != 0o750 || a.Nlink != 2 || a.UID != 0 {
		f.Errorf("%+v", a)
	}
	if n := f.attr(r).Nlink; n != before.Nlink+1 {
		f.Errorf("links of the parent: %d, then %d", before.Nlink, n)
	}
	f.file("file")
	if n := f.attr(r).Nlink; n != before.Nlink+1 {
		f.Errorf("a file is a link to the directory: %d", n)
	}
	_, err := f.fs.Write(f.ctx, root, d, 0, Bulk([]byte("x")), nfs3.FileSync)
	f.want("write to a directory", err, nfs3.ErrIsDir)
	_, _, err = Read(f.ctx, f.fs, root, d, 0, 1)
	f.want("read of a directory", err, nfs3.ErrIsDir)
	set := setSize(0)
	_, err = f.fs.SetAttr(f.ctx, root, d, &set, nil)
	f.want("size of a directory", err, nfs3.ErrIsDir)
}

// testSetGIDDirectory: what is made in such a directory gets its group.
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
}

func testStatFS(f *fixture) {
	h := f.file("file")
	before, attr, err := f.fs.StatFS(f.ctx, f.fs.Root())
	f.ok(err)
	if !attr.Present || before.TotalBytes < before.FreeBytes || before.FreeBytes < before.AvailBytes ||
		before.TotalFiles < before.FreeFiles || before.FreeFiles < before.AvailFiles || before.AvailBytes == 0 {
		f.Errorf("%+v", before)
	}
	// Incompressible, for the file systems below a directory that compress.
	p := make([]byte, 8<<20)
	r := rand.NewChaCha8([32]byte{})
	r.Read(p)
	f.write(h, 0, p)
	if a := f.attr(h); a.Used < uint64(len(p)) {
		f.Errorf("%d bytes are in use for %d", a.Used, len(p))
	}
}
