package vfstest

import (
	"bytes"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

func testRemove(f *fixture) {
	d := f.dir("dir", 0o755)
	before := f.attr(d)
	files := map[string]nfs3.FH{
		"file": f.fileOf(root, d, "file", 0o644),
		"link": f.symlink(d, "link", "file"),
		"fifo": f.fifo(d, "fifo"),
	}
	sub := f.mkdir(root, d, "sub", 0o755)
	for _, tt := range []struct {
		name string
		want nfs3.Status
	}{
		{"link", nfs3.OK}, // and not what it leads to
		{"sub", nfs3.ErrIsDir},
		{"fifo", nfs3.OK},
		{"file", nfs3.OK},
		{"file", nfs3.ErrNoEnt},
		{"missing", nfs3.ErrNoEnt},
	} {
		attr := f.attr(d)
		wcc, err := f.fs.Remove(f.ctx, root, d, tt.name)
		f.want("remove of "+tt.name, err, tt.want)
		if wcc.Before != attr.Pre() || wcc.After != nfs3.PostOpAttrOf(f.attr(d)) {
			f.Errorf("remove of %s: %+v", tt.name, wcc)
		}
		if tt.want == nfs3.OK {
			f.wantNoName(d, tt.name)
			f.wantStale(tt.name, files[tt.name])
			delete(files, tt.name)
		}
		for name, h := range files {
			f.wantName(d, name, h)
		}
	}
	f.wantName(d, "sub", sub)
	f.wantNames(d, "sub")
	f.wantLinks("with a subdirectory", d, before, 1)
	again := f.fileOf(root, d, "file", 0o644)
	if a := f.attr(again); a.Size != 0 || a.Nlink != 1 {
		f.Errorf("made again: %+v", a)
	}
}

// testRemoveLinked: a file is gone when its last name is removed, not before.
func testRemoveLinked(f *fixture) {
	r := f.fs.Root()
	d := f.dir("dir", 0o755)
	h := f.file("one")
	f.write(h, 0, []byte("data"))
	f.link(h, r, "two")
	f.link(h, d, "three")
	for i, name := range []string{"one", "two"} {
		before := f.attr(h)
		f.remove(r, name)
		a := f.attr(h)
		if int(a.Nlink) != 2-i || a.Ctime.Nanos() < before.Ctime.Nanos() ||
			a.Mtime != before.Mtime || a.FileID != before.FileID {
			f.Errorf("%s removed: %+v, then %+v", name, before, a)
		}
		if got, _ := f.read(h, 0, 10); string(got) != "data" {
			f.Errorf("%s removed: %q", name, got)
		}
	}
	f.wantName(d, "three", h)
	f.remove(d, "three")
	f.wantStale("all names removed", h)
}

// testRemoveLeased: the data of a READ does not change when the file is removed and others are
// written.
func testRemoveLeased(f *fixture) {
	const n = 300000
	data := pattern(n)
	h := f.file("file")
	f.write(h, 0, data)
	var lease vfs.ReadResult
	f.ok(f.fs.Read(f.ctx, root, h, 0, n, &lease))
	f.remove(f.fs.Root(), "file")
	f.wantStale("removed", h)
	f.write(f.file("file"), 0, bytes.Repeat([]byte{'x'}, 2*n))
	if got := bytes.Join(lease.Data, nil); !bytes.Equal(got, data) {
		f.Error("data that was handed out has changed")
	}
	release(lease.Release)
}

// testRemoveWriting: a WRITE whose file is removed while its data is fetched returns nfs3.ErrStale.
func testRemoveWriting(f *fixture) {
	h := f.file("file")
	_, err := f.fs.Write(f.ctx, root, h, 0, LazyBulk(pattern(100000), func() error {
		f.remove(f.fs.Root(), "file")
		return nil
	}), nfs3.FileSync)
	// Where files that are open can be written though they have no name, that is as good.
	if err != nil {
		f.want("write of a file that goes", err, nfs3.ErrStale)
	}
	f.wantStale("removed", h)
}

func testRmdir(f *fixture) {
	d := f.dir("dir", 0o755)
	before := f.attr(d)
	f.fileOf(root, d, "file", 0o644)
	f.symlink(d, "link", "empty")
	full, empty := f.mkdir(root, d, "full", 0o755), f.mkdir(root, d, "empty", 0o755)
	f.symlink(full, "nowhere", "missing")
	for _, tt := range []struct {
		name string
		want nfs3.Status
	}{
		{"file", nfs3.ErrNotDir},
		{"link", nfs3.ErrNotDir},
		{"full", nfs3.ErrNotEmpty},
		{"missing", nfs3.ErrNoEnt},
		{"empty", nfs3.OK},
		{"empty", nfs3.ErrNoEnt},
	} {
		attr := f.attr(d)
		wcc, err := f.fs.Rmdir(f.ctx, root, d, tt.name)
		f.want("rmdir of "+tt.name, err, tt.want)
		if wcc.Before != attr.Pre() || wcc.After != nfs3.PostOpAttrOf(f.attr(d)) {
			f.Errorf("rmdir of %s: %+v", tt.name, wcc)
		}
	}
	f.wantStale("removed", empty)
	f.wantNames(d, "file", "link", "full")
	f.wantLinks("one subdirectory removed", d, before, 1)
	if again := f.mkdir(root, d, "empty", 0o755); again == empty {
		f.Error("a new directory has the handle of one that is gone")
	}
	f.wantStale("removed, and the name used again", empty)
	f.remove(full, "nowhere")
	f.rmdir(d, "full")
	f.wantStale("emptied and removed", full)
	f.wantLinks("one is left", d, before, 1)
}
