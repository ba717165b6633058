package vfstest

import (
	"strings"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// testRenameKinds: which types of files may replace which, in the same directory and in another.
func testRenameKinds(f *fixture) {
	const (
		ok     = nfs3.OK
		isDir  = nfs3.ErrIsDir
		notDir = nfs3.ErrNotDir
		full   = nfs3.ErrNotEmpty
	)
	makers := map[string]func(dir nfs3.FH, name string) nfs3.FH{
		"nothing": func(nfs3.FH, string) nfs3.FH { return nfs3.FH{} },
		"file":    func(dir nfs3.FH, name string) nfs3.FH { return f.fileOf(root, dir, name, 0o644) },
		"link":    func(dir nfs3.FH, name string) nfs3.FH { return f.symlink(dir, name, "missing") },
		"fifo":    f.fifo,
		"dir":     func(dir nfs3.FH, name string) nfs3.FH { return f.mkdir(root, dir, name, 0o755) },
		"full": func(dir nfs3.FH, name string) nfs3.FH {
			h := f.mkdir(root, dir, name, 0o755)
			f.fileOf(root, h, "file", 0o644)
			return h
		},
	}
	n := 0
	for from, tos := range map[string]map[string]nfs3.Status{
		"nothing": {"nothing": nfs3.ErrNoEnt, "file": nfs3.ErrNoEnt, "dir": nfs3.ErrNoEnt},
		"file":    {"nothing": ok, "file": ok, "link": ok, "fifo": ok, "dir": isDir, "full": isDir},
		"link":    {"nothing": ok, "file": ok, "link": ok, "fifo": ok, "dir": isDir, "full": isDir},
		"fifo":    {"nothing": ok, "file": ok, "link": ok, "fifo": ok, "dir": isDir, "full": isDir},
		"dir":     {"nothing": ok, "file": notDir, "link": notDir, "fifo": notDir, "dir": ok, "full": full},
		"full":    {"nothing": ok, "file": notDir, "link": notDir, "fifo": notDir, "dir": ok, "full": full},
	} {
		for to, want := range tos {
			for _, across := range []bool{false, true} {
				n++
				d := f.dir(string(rune('a'+n/26))+string(rune('a'+n%26)), 0o755)
				t := d
				what := from + " over " + to
				if across {
					t, what = f.mkdir(root, d, "other", 0o755), what+" in another directory"
				}
				moves, old := makers[from](d, "from"), makers[to](t, "to")
				_, _, err := f.fs.Rename(f.ctx, root, d, "from", t, "to")
				f.want(what, err, want)
				if want == ok {
					f.wantNoName(d, "from")
					f.wantName(t, "to", moves)
					if to != "nothing" {
						f.wantStale(what+": replaced", old)
					}
				} else {
					if from != "nothing" {
						f.wantName(d, "from", moves)
					}
					if to != "nothing" {
						f.wantName(t, "to", old)
					}
				}
			}
		}
	}
}

// testRenameMoves: a moved file has the same handle and attributes, and so has everything below it.
func testRenameMoves(f *fixture) {
	r := f.fs.Root()
	one, two := f.dir("one", 0o755), f.dir("two", 0o755)
	d := f.mkdir(root, one, "dir", 0o755)
	sub := f.mkdir(root, d, "sub", 0o755)
	file := f.fileOf(root, sub, "file", 0o644)
	f.write(file, 0, []byte("data"))
	before, beforeOne, beforeTwo := f.attr(d), f.attr(one), f.attr(two)

	f.rename(one, "dir", two, "renamed")
	f.wantNames(one)
	f.wantName(two, "renamed", d)
	f.wantName(d, "..", two)
	f.wantName(d, "sub", sub)
	f.wantName(sub, "..", d)
	f.wantName(sub, "file", file)
	if got, _ := f.read(file, 0, 10); string(got) != "data" {
		f.Errorf("%q", got)
	}
	a := f.attr(d)
	if a.Ctime.Nanos() < before.Ctime.Nanos() || a.Mtime != before.Mtime ||
		a.FileID != before.FileID || a.Nlink != before.Nlink {
		f.Errorf("%+v, then %+v", before, a)
	}
	f.wantLinks("its directory has left", one, beforeOne, -1)
	f.wantLinks("a directory has come", two, beforeTwo, 1)
	for _, e := range f.list(d, 10, func() {}) {
		if e.Name == ".." && e.FileID != beforeTwo.FileID {
			f.Errorf("..: file %d, want %d", e.FileID, beforeTwo.FileID)
		}
	}

	// A directory that is replaced is a link less.
	f.mkdir(root, one, "empty", 0o755)
	f.rename(two, "renamed", one, "empty")
	f.wantLinks("a directory was replaced", one, beforeOne, 0)
	f.wantLinks("its directory has left", two, beforeTwo, 0)
	f.wantName(d, "..", one)

	f.rename(sub, "file", r, "file")
	f.wantName(r, "file", file)
	f.wantNames(sub)
	f.set(file, setSize(2))
	if got, _ := f.read(file, 0, 10); string(got) != "da" {
		f.Errorf("%q", got)
	}
}

// testRenameSame: nothing happens if both names belong to the same file.
func testRenameSame(f *fixture) {
	r := f.fs.Root()
	d := f.dir("dir", 0o755)
	h := f.file("one")
	f.link(h, r, "two")
	f.link(h, d, "three")
	before, root1, dir1 := f.attr(h), f.attr(r), f.attr(d)
	for _, tt := range []struct {
		from     nfs3.FH
		fromName string
		to       nfs3.FH
		toName   string
	}{
		{r, "one", r, "one"},
		{r, "one", r, "two"},
		{r, "one", d, "three"},
		{d, "three", r, "two"},
		{r, "dir", r, "dir"},
	} {
		fromWcc, toWcc, err := f.fs.Rename(f.ctx, root, tt.from, tt.fromName, tt.to, tt.toName)
		f.want(tt.fromName+" to "+tt.toName, err, nfs3.OK)
		for _, wcc := range []nfs3.WccData{fromWcc, toWcc} {
			if !wcc.Before.Present || wcc.Before != wcc.After.Attr.Pre() {
				f.Errorf("%s to %s: %+v", tt.fromName, tt.toName, wcc)
			}
		}
	}
	f.wantNames(r, "one", "two", "dir")
	f.wantNames(d, "three")
	f.wantName(r, "dir", d)
	if got := f.attr(h); got != before {
		f.Errorf("file: %+v, then %+v", before, got)
	}
	if got := f.attr(r).Mtime; got != root1.Mtime {
		f.Errorf("root directory: mtime %v, then %v", root1.Mtime, got)
	}
	if got := f.attr(d).Mtime; got != dir1.Mtime {
		f.Errorf("directory: mtime %v, then %v", dir1.Mtime, got)
	}
}

// testRenameLoop: a directory cannot move below itself, or replace one that is not empty.
func testRenameLoop(f *fixture) {
	r := f.fs.Root()
	a := f.dir("a", 0o755)
	b := f.mkdir(root, a, "b", 0o755)
	c := f.mkdir(root, b, "c", 0o755)
	f.fileOf(root, c, "file", 0o644)
	for _, tt := range []struct {
		from     nfs3.FH
		fromName string
		to       nfs3.FH
		toName   string
		want     nfs3.Status
	}{
		{r, "a", a, "new", nfs3.ErrInval},
		{r, "a", c, "new", nfs3.ErrInval},
		{a, "b", c, "new", nfs3.ErrInval},
		{r, "a", a, "b", nfs3.ErrInval},
		{b, "c", r, "a", nfs3.ErrNotEmpty},
		{b, "c", a, "b", nfs3.ErrNotEmpty},
		{r, "a", r, ".", nfs3.ErrInval},
		{r, "a", b, "..", nfs3.ErrInval},
		{a, ".", r, "new", nfs3.ErrInval},
		{a, "..", r, "new", nfs3.ErrInval},
	} {
		_, _, err := f.fs.Rename(f.ctx, root, tt.from, tt.fromName, tt.to, tt.toName)
		f.want(tt.fromName+" to "+tt.toName, err, tt.want)
	}
	// By handles that were got before it moved, too.
	f.rename(b, "c", r, "c")
	f.rename(r, "a", c, "a")
	_, _, err := f.fs.Rename(f.ctx, root, r, "c", b, "c")
	f.want("into what has moved below it", err, nfs3.ErrInval)
	f.wantName(b, "..", a)
	f.wantName(a, "..", c)
	f.wantName(c, "..", r)
}

// testDeep: directories may be nested deeper than a path can express, and the files at the bottom
// stay usable when directories move.
func testDeep(f *fixture) {
	const depth = 40
	name := strings.Repeat("n", 200)
	top := f.dir("top", 0o755)
	dirs := []nfs3.FH{top}
	for range depth {
		dirs = append(dirs, f.mkdir(root, dirs[len(dirs)-1], name, 0o755))
	}
	bottom := dirs[depth]
	h := f.fileOf(root, bottom, "file", 0o644)
	f.write(h, 0, []byte("data"))
	f.rename(f.fs.Root(), "top", f.dir("other", 0o755), "moved")
	if got, _ := f.read(h, 0, 10); string(got) != "data" {
		f.Errorf("%q", got)
	}
	f.write(h, 4, []byte(" and more"))
	f.link(h, top, "link")
	f.rename(bottom, "file", bottom, "renamed")
	_, _, err := f.fs.Rename(f.ctx, root, dirs[0], name, bottom, "loop")
	f.want("rename below itself", err, nfs3.ErrInval)
	f.wantNames(bottom, "renamed")
	for i := depth; i > 0; i-- {
		f.wantName(dirs[i], "..", dirs[i-1])
		f.wantName(dirs[i-1], name, dirs[i])
	}
	f.remove(bottom, "renamed")
	for i := depth; i > 0; i-- {
		f.rmdir(dirs[i-1], name)
	}
	f.wantNames(top, "link")
	if got, _ := f.read(h, 0, 100); string(got) != "data and more" {
		f.Errorf("%q", got)
	}
}
