package vfstest

import (
	"strings"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// testNames: every method that takes a name refuses invalid ones.
func testNames(f *fixture) {
	const (
		no    = nfs3.ErrAcces
		long  = nfs3.ErrNameTooLong
		exist = nfs3.ErrExist
		inval = nfs3.ErrInval
	)
	all := func(s nfs3.Status) [4]nfs3.Status { return [4]nfs3.Status{s, s, s, s} }
	f.file("file")
	for _, tt := range []struct {
		name string
		want [4]nfs3.Status // of making something, Remove, Rmdir, Rename
	}{
		{"", all(no)},
		{"a/b", all(no)},
		{"/", all(no)},
		{"file/", all(no)},
		{"../file", all(no)},
		{"a\x00b", all(no)},
		{"\x00", all(no)},
		{strings.Repeat("n", 256), all(long)},
		{strings.Repeat("n", 100000), all(long)},
		{".", [4]nfs3.Status{exist, inval, inval, inval}},
		{"..", [4]nfs3.Status{exist, nfs3.ErrIsDir, exist, inval}},
	} {
		short := tt.name[:min(len(tt.name), 10)]
		for what, err := range f.everyName(tt.name) {
			want := tt.want[0]
			switch what {
			case "Lookup":
				if want == exist {
					want = nfs3.OK
				}
			case "Remove":
				want = tt.want[1]
			case "Rmdir":
				want = tt.want[2]
			case "Rename from", "Rename to":
				want = tt.want[3]
			}
			f.want(what+" "+short, err, want)
		}
	}
	f.wantNames(f.fs.Root(), "file")
}

// everyName calls each method that takes a name, in the root directory, where there is a file
// "file".
func (f *fixture) everyName(name string) map[string]error {
	all := make(map[string]error)
	r := f.fs.Root()
	file, _, err := f.fs.Lookup(f.ctx, root, r, "file")
	f.ok(err)
	_, _, all["Lookup"] = f.fs.Lookup(f.ctx, root, r, name)
	_, _, all["Create"] = f.fs.Create(f.ctx, root, r, name, &nfs3.CreateHow{Mode: nfs3.Guarded})
	_, _, all["Create exclusively"] = f.fs.Create(f.ctx, root, r, name,
		&nfs3.CreateHow{Mode: nfs3.Exclusive, Verf: nfs3.Verifier{1}})
	_, _, all["Create unchecked"] = f.fs.Create(f.ctx, root, r, name, &nfs3.CreateHow{})
	_, _, all["Mkdir"] = f.fs.Mkdir(f.ctx, root, r, name, &nfs3.Sattr{})
	_, _, all["Symlink"] = f.fs.Symlink(f.ctx, root, r, name, "path", &nfs3.Sattr{})
	_, _, all["Mknod"] = f.fs.Mknod(f.ctx, root, r, name, nfs3.TypeFIFO, nfs3.Specdata{}, &nfs3.Sattr{})
	_, all["Remove"] = f.fs.Remove(f.ctx, root, r, name)
	_, all["Rmdir"] = f.fs.Rmdir(f.ctx, root, r, name)
	_, _, all["Rename from"] = f.fs.Rename(f.ctx, root, r, name, r, "other")
	_, _, all["Rename to"] = f.fs.Rename(f.ctx, root, r, "file", r, name)
	_, _, all["Link"] = f.fs.Link(f.ctx, root, file.File, r, name)
	return all
}

// testGoodNames: names may have any other bytes.
func testGoodNames(f *fixture) {
	r := f.fs.Root()
	good := []string{"a", "...", " ", "-", "~", "a b", "A", "name\nwith\xffbytes", "\x01", "%2f", `back\slash`,
		"\u00e4", "a\u0308", strings.Repeat("n", 255)}
	for _, name := range good {
		h := f.file(name)
		f.wantName(r, name, h)
	}
	f.wantNames(r, good...)
	d := f.dir("dir", 0o755)
	for _, name := range good {
		h, _, err := f.fs.Lookup(f.ctx, root, r, name)
		f.ok(err)
		f.link(h.File, d, name)
		f.rename(r, name, r, "temporary")
		f.rename(r, "temporary", r, name)
		f.remove(r, name)
		f.wantName(d, name, h.File)
		f.symlink(r, name, name)
		f.remove(r, name)
		f.fifo(r, name)
		f.remove(r, name)
		f.mkdir(root, r, name, 0o755)
		f.rmdir(r, name)
	}
	f.wantNames(d, good...)
	f.wantNames(r, "dir")
}
