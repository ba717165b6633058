package vfstest

import (
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// testWcc: the attributes before and after a change match those that others see.
func testWcc(f *fixture) {
	r := f.fs.Root()
	d, h := f.dir("dir", 0o755), f.file("file")
	long := nfs3.Time{Sec: 1} // ago, so that every later mtime is another
	of := func(wcc nfs3.WccData, err error) ([]nfs3.WccData, error) { return []nfs3.WccData{wcc}, err }
	made := func(_ any, wcc nfs3.WccData, err error) ([]nfs3.WccData, error) { return of(wcc, err) }
	moved := func(from, to nfs3.WccData, err error) ([]nfs3.WccData, error) { return []nfs3.WccData{from, to}, err }
	write := func() ([]nfs3.WccData, error) {
		w, err := f.fs.Write(f.ctx, root, h, 0, Bulk([]byte("data")), nfs3.Unstable)
		return of(w.Wcc, err)
	}
	set := func(s nfs3.Sattr) func() ([]nfs3.WccData, error) {
		return func() ([]nfs3.WccData, error) { return of(f.fs.SetAttr(f.ctx, root, h, &s, nil)) }
	}
	for _, tt := range []struct {
		what   string
		of     []nfs3.FH // whose attributes the changes are
		change func() ([]nfs3.WccData, error)
	}{
		{"create", []nfs3.FH{r}, func() ([]nfs3.WccData, error) {
			o, wcc, err := f.fs.Create(f.ctx, root, r, "new", &nfs3.CreateHow{})
			return made(o, wcc, err)
		}},
		{"create exclusively", []nfs3.FH{r}, func() ([]nfs3.WccData, error) {
			o, wcc, err := f.fs.Create(f.ctx, root, r, "exclusive", &nfs3.CreateHow{Mode: nfs3.Exclusive})
			return made(o, wcc, err)
		}},
		{"mkdir", []nfs3.FH{r}, func() ([]nfs3.WccData, error) {
			o, wcc, err := f.fs.Mkdir(f.ctx, root, r, "sub", &nfs3.Sattr{})
			return made(o, wcc, err)
		}},
		{"symlink", []nfs3.FH{r}, func() ([]nfs3.WccData, error) {
			o, wcc, err := f.fs.Symlink(f.ctx, root, r, "link", "path", &nfs3.Sattr{})
			return made(o, wcc, err)
		}},
		{"mknod", []nfs3.FH{r}, func() ([]nfs3.WccData, error) {
			o, wcc, err := f.fs.Mknod(f.ctx, root, r, "fifo", nfs3.TypeFIFO, nfs3.Specdata{}, &nfs3.Sattr{})
			return made(o, wcc, err)
		}},
		{"link", []nfs3.FH{d}, func() ([]nfs3.WccData, error) {
			a, wcc, err := f.fs.Link(f.ctx, root, h, d, "name")
			return made(a, wcc, err)
		}},
		{"rename", []nfs3.FH{r, r}, func() ([]nfs3.WccData, error) {
			return moved(f.fs.Rename(f.ctx, root, r, "new", r, "renamed"))
		}},
		{"rename across directories", []nfs3.FH{r, d}, func() ([]nfs3.WccData, error) {
			return moved(f.fs.Rename(f.ctx, root, r, "renamed", d, "moved"))
		}},
		{"rename of a directory", []nfs3.FH{r, d}, func() ([]nfs3.WccData, error) {
			return moved(f.fs.Rename(f.ctx, root, r, "sub", d, "sub"))
		}},
		{"rename over a file", []nfs3.FH{d, d}, func() ([]nfs3.WccData, error) {
			return moved(f.fs.Rename(f.ctx, root, d, "moved", d, "name"))
		}},
		{"remove", []nfs3.FH{r}, func() ([]nfs3.WccData, error) { return of(f.fs.Remove(f.ctx, root, r, "link")) }},
		{"rmdir", []nfs3.FH{d}, func() ([]nfs3.WccData, error) { return of(f.fs.Rmdir(f.ctx, root, d, "sub")) }},
		{"write", []nfs3.FH{h}, write},
		{"write again", []nfs3.FH{h}, write},
		{"chmod", []nfs3.FH{h}, set(setMode(0o600))},
		{"truncate", []nfs3.FH{h}, set(setSize(2))},
		{"set times", []nfs3.FH{h}, set(nfs3.Sattr{
			Mtime: nfs3.SetTime{How: nfs3.ToClientTime, To: nfs3.Time{Sec: 5}},
		})},
	} {
		var before []nfs3.Fattr
		for _, h := range tt.of {
			f.set(h, nfs3.Sattr{Mtime: nfs3.SetTime{How: nfs3.ToClientTime, To: long}})
		}
		for _, h := range tt.of {
			before = append(before, f.attr(h))
		}
		wccs, err := tt.change()
		f.want(tt.what, err, nfs3.OK)
		for i, wcc := range wccs {
			after := f.attr(tt.of[i])
			if wcc.Before != before[i].Pre() {
				f.Errorf("%s: before %+v, want %+v", tt.what, wcc.Before, before[i].Pre())
			}
			if wcc.After != nfs3.PostOpAttrOf(after) {
				f.Errorf("%s: after %+v, want %+v", tt.what, wcc.After, after)
			}
			if after.Ctime.Nanos() < before[i].Ctime.Nanos() || (after.Mtime == long) != (tt.what == "chmod") {
				f.Errorf("%s: times %v, %v, then %v, %v",
					tt.what, before[i].Mtime, before[i].Ctime, after.Mtime, after.Ctime)
			}
		}
	}
}

// testWccFailed: a call that fails changes nothing, and its WccData says so.
func testWccFailed(f *fixture) {
	r := f.fs.Root()
	d := f.dir("dir", 0o755)
	h := f.fileOf(root, d, "file", 0o644)
	one := func(wcc nfs3.WccData, err error) error {
		f.wantSame(d, wcc)
		return err
	}
	for what, do := range map[string]func() error{
		"create": func() error {
			_, wcc, err := f.fs.Create(f.ctx, alice, d, "new", &nfs3.CreateHow{})
			return one(wcc, err)
		},
		"mkdir": func() error {
			_, wcc, err := f.fs.Mkdir(f.ctx, alice, d, "new", &nfs3.Sattr{})
			return one(wcc, err)
		},
		"symlink": func() error {
			_, wcc, err := f.fs.Symlink(f.ctx, alice, d, "new", "path", &nfs3.Sattr{})
			return one(wcc, err)
		},
		"mknod": func() error {
			_, wcc, err := f.fs.Mknod(f.ctx, alice, d, "new", nfs3.TypeFIFO, nfs3.Specdata{}, &nfs3.Sattr{})
			return one(wcc, err)
		},
		"link": func() error {
			_, wcc, err := f.fs.Link(f.ctx, alice, h, d, "new")
			return one(wcc, err)
		},
		"remove": func() error { return one(f.fs.Remove(f.ctx, alice, d, "file")) },
		"rename": func() error {
			from, to, err := f.fs.Rename(f.ctx, alice, d, "file", r, "file")
			f.wantSame(r, to)
			return one(from, err)
		},
	} {
		f.want(what, do(), nfs3.ErrAcces)
	}
	f.wantNames(d, "file")
}

// wantSame fails the test unless wcc says that nothing became of h.
func (f *fixture) wantSame(h nfs3.FH, wcc nfs3.WccData) {
	f.Helper()
	a := f.attr(h)
	if wcc.Before != a.Pre() || wcc.After != nfs3.PostOpAttrOf(a) {
		f.Errorf("%+v, want %+v both times", wcc, a)
	}
}
