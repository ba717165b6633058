package vfstest

import (
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// testHandles: every method refuses handles that the file system has not made.
func testHandles(f *fixture) {
	other, good := f.file("other"), f.file("file")
	bad := []nfs3.FH{{}, nfs3.MakeFH([]byte{1}), nfs3.MakeFH(make([]byte, nfs3.FHSize)),
		nfs3.MakeFH(good.Bytes()[:good.Len()-1]), nfs3.MakeFH(append(good.Bytes(), 0))}
	for i := range 8 * good.Len() {
		b := []byte(string(good.Bytes()))
		b[i/8] ^= 1 << (i % 8)
		bad = append(bad, nfs3.MakeFH(b))
	}
	for _, h := range bad {
		for name, err := range f.everything(h, other) {
			if err != nfs3.ErrBadHandle && err != nfs3.ErrStale {
				f.Errorf("%s of handle %v: %v", name, h, err)
			}
		}
	}
	for name, err := range f.everything(good, other) {
		if err == nfs3.ErrBadHandle || err == nfs3.ErrStale {
			f.Errorf("%s of a good handle: %v", name, err)
		}
	}
}

// testStale: the handle of a file that is gone is stale to every method.
func testStale(f *fixture) {
	r := f.fs.Root()
	other := f.file("other")
	file, dir := f.file("file"), f.dir("dir", 0o755)
	link, fifo := f.symlink(r, "link", "path"), f.fifo(r, "fifo")
	f.write(file, 0, []byte("data"))
	f.remove(r, "file")
	f.remove(r, "link")
	f.remove(r, "fifo")
	f.rmdir(r, "dir")
	// What has the same names now is something else.
	f.file("file")
	f.dir("dir", 0o755)
	f.symlink(r, "link", "path")
	f.fifo(r, "fifo")
	for what, h := range map[string]nfs3.FH{"file": file, "directory": dir, "symbolic link": link, "FIFO": fifo} {
		for name, err := range f.everything(h, other) {
			f.want(name+" of a "+what+" that is gone", err, nfs3.ErrStale)
		}
	}
	f.wantNoName(r, "x")
}

// testWrongKind: methods refuse files of the wrong type.
func testWrongKind(f *fixture) {
	const (
		ok     = nfs3.OK
		isDir  = nfs3.ErrIsDir
		notDir = nfs3.ErrNotDir
		inval  = nfs3.ErrInval
	)
	r := f.fs.Root()
	other := f.file("other")
	dir := f.dir("dir", 0o755)
	file, link, fifo := f.file("file"), f.symlink(r, "link", "dir"), f.fifo(r, "fifo")
	for _, tt := range []struct {
		what string
		h    nfs3.FH
		want map[string]nfs3.Status
	}{
		{"file", file, map[string]nfs3.Status{
			"Read": ok, "Write": ok, "Commit": ok,
			"ReadLink": inval, "SetAttr size": ok, "Link file": ok,
		}},
		{"link", link, map[string]nfs3.Status{
			"Read": inval, "Write": inval, "Commit": inval,
			"ReadLink": ok, "SetAttr size": inval, "Link file": ok,
		}},
		{"FIFO", fifo, map[string]nfs3.Status{
			"Read": inval, "Write": inval, "Commit": inval,
			"ReadLink": inval, "SetAttr size": inval, "Link file": ok,
		}},
		{"directory", dir, map[string]nfs3.Status{
			"Read": isDir, "Write": isDir, "Commit": isDir,
			"ReadLink": inval, "SetAttr size": isDir, "Link file": isDir,
		}},
	} {
		got := f.everything(tt.h, other)
		for name, want := range tt.want {
			f.want(name+" of a "+tt.what, got[name], want)
		}
		for _, name := range []string{"GetAttr", "SetAttr", "Access", "StatFS"} {
			f.want(name+" of a "+tt.what, got[name], ok)
		}
		for _, name := range []string{"Lookup", "Create", "Mkdir", "Symlink", "Mknod", "Remove", "Rmdir",
			"Rename from", "Rename to", "Link dir", "ReadDir"} {
			if tt.h != dir {
				f.want(name+" in a "+tt.what, got[name], notDir)
			}
		}
		if tt.want["Link file"] == ok {
			f.remove(r, "x")
		}
	}
}

// everything calls each method that takes a handle with h, as root; where there are two it is once
// either. other is another file's. A good h gets the name "x" in the root directory, if it can.
func (f *fixture) everything(h, other nfs3.FH) map[string]error {
	all := make(map[string]error)
	r := f.fs.Root()
	size := setSize(0)
	_, all["GetAttr"] = f.fs.GetAttr(f.ctx, h)
	_, all["SetAttr"] = f.fs.SetAttr(f.ctx, root, h, &nfs3.Sattr{}, nil)
	_, all["SetAttr size"] = f.fs.SetAttr(f.ctx, root, h, &size, nil)
	_, _, all["Lookup"] = f.fs.Lookup(f.ctx, root, h, "x")
	_, _, all["Access"] = f.fs.Access(f.ctx, root, h, nfs3.AccessAll)
	_, _, all["Read"] = Read(f.ctx, f.fs, root, h, 0, 1)
	_, all["Write"] = f.fs.Write(f.ctx, root, h, 0, Bulk([]byte("x")), nfs3.Unstable)
	_, all["Commit"] = f.fs.Commit(f.ctx, root, h, 0, 0)
	_, _, all["Create"] = f.fs.Create(f.ctx, root, h, "x", &nfs3.CreateHow{})
	_, _, all["Mkdir"] = f.fs.Mkdir(f.ctx, root, h, "dir", &nfs3.Sattr{})
	_, _, all["Symlink"] = f.fs.Symlink(f.ctx, root, h, "link", "path", &nfs3.Sattr{})
	_, _, all["ReadLink"] = f.fs.ReadLink(f.ctx, root, h)
	_, _, all["Mknod"] = f.fs.Mknod(f.ctx, root, h, "fifo", nfs3.TypeFIFO, nfs3.Specdata{}, &nfs3.Sattr{})
	_, _, all["Rename from"] = f.fs.Rename(f.ctx, root, h, "x", r, "y")
	_, _, all["Rename to"] = f.fs.Rename(f.ctx, root, r, "other", h, "other")
	_, all["Remove"] = f.fs.Remove(f.ctx, root, h, "link")
	_, all["Rmdir"] = f.fs.Rmdir(f.ctx, root, h, "dir")
	_, _, all["Link file"] = f.fs.Link(f.ctx, root, h, r, "x")
	_, _, all["Link dir"] = f.fs.Link(f.ctx, root, other, h, "another")
	_, all["ReadDir"] = f.fs.ReadDir(f.ctx, root, h, 0, nfs3.Verifier{}, true, func(*nfs3.Entry) bool { return true })
	_, _, all["StatFS"] = f.fs.StatFS(f.ctx, h)
	return all
}
