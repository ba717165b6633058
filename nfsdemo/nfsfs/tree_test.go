package nfsfs_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/internal/pipe"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsfs"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// names lists a directory.
func names(t *testing.T, f *nfsfs.FS, dir string) []string {
	t.Helper()
	got := []string{}
	for _, e := range must(f.ReadDir(t.Context(), dir))(t) {
		got = append(got, e.Name())
	}
	return got
}

// TestNamespace runs operations in order. Each prepares what the next needs.
func TestNamespace(t *testing.T) {
	overAll(t, nfsfs.Config{}, func(t *testing.T, f *nfsfs.FS) {
		ctx := t.Context()
		for _, tt := range []struct {
			what string
			err  error
			want error
			text string
		}{
			{"mkdir", f.Mkdir(ctx, "a", 0o750|fs.ModeSticky), nil, ""},
			{"mkdir with a slash", f.Mkdir(ctx, "b/", 0o755), nil, ""},
			{"mkdir again", f.Mkdir(ctx, "a", 0o755), fs.ErrExist, "mkdir a: nfs: MKDIR a: NFS3ERR_EXIST"},
			{"mkdir of the root", f.Mkdir(ctx, "/", 0o755), fs.ErrInvalid, "mkdir /: invalid argument"},
			{"mkdir in nothing", f.Mkdir(ctx, "x/y", 0o755), fs.ErrNotExist, "mkdir x/y: nfs: LOOKUP x: NFS3ERR_NOENT"},
			{"mkdir -p", f.MkdirAll(ctx, "/c/d//e/./f/", 0o755), nil, ""},
			{"mkdir -p again", f.MkdirAll(ctx, "c/d/e", 0o755), nil, ""},
			{"mkdir -p up", f.MkdirAll(ctx, "c/new/../new2", 0o755), nil, ""},
			{"mkdir -p of the root", f.MkdirAll(ctx, "", 0o755), nil, ""},
			{"mknod", f.Mknod(ctx, "a/file", nfs3.TypeSock, nfs3.Specdata{}, 0o600), nil, ""},
			{"mkdir -p at a file", f.MkdirAll(ctx, "a/file", 0o755), nfs3.ErrNotDir, "mkdir a/file: nfs: MKDIR file: NFS3ERR_NOTDIR"},
			{"mkdir -p below a file", f.MkdirAll(ctx, "a/file/x", 0o755), nfs3.ErrNotDir, "mkdir a/file: nfs: MKDIR file: NFS3ERR_NOTDIR"},
			{"link", f.Link(ctx, "a/file", "b/other"), nil, ""},
			{"link again", f.Link(ctx, "a/file", "b/other"), fs.ErrExist, "link a/file b/other: nfs: LINK other: NFS3ERR_EXIST"},
			{"link with a slash", f.Link(ctx, "a/file", "b/more/"), fs.ErrNotExist, "link a/file b/more/: nfs: LOOKUP more: NFS3ERR_NOENT"},
			{"symlink", f.Symlink(ctx, "../a/file", "b/sym"), nil, ""},
			{"symlink in nothing", f.Symlink(ctx, "x", "y/z"), fs.ErrNotExist, "symlink x y/z: nfs: LOOKUP y: NFS3ERR_NOENT"},
			{"link of a symlink", f.Link(ctx, "b/sym", "b/sym2"), nil, ""},
			{"rename", f.Rename(ctx, "b/other", "a/moved"), nil, ""},
			{"rename a directory", f.Rename(ctx, "c/d/", "a/d/"), nil, ""},
			{"rename a file as a directory", f.Rename(ctx, "a/moved", "a/x/"), nfs3.ErrNotDir, "rename a/moved a/x/: nfs: RENAME moved: NFS3ERR_NOTDIR"},
			{"rename nothing", f.Rename(ctx, "none", "a/x"), fs.ErrNotExist, "rename none a/x: nfs: RENAME none: NFS3ERR_NOENT"},
			{"rename to the root", f.Rename(ctx, "a", ".."), fs.ErrInvalid, "rename a ..: invalid argument"},
			{"remove", f.Remove(ctx, "a/moved"), nil, ""},
			{"remove again", f.Remove(ctx, "a/moved"), fs.ErrNotExist, "remove a/moved: nfs: REMOVE moved: NFS3ERR_NOENT"},
			{"remove a symlink", f.Remove(ctx, "b/sym"), nil, ""},
			{"remove a file as a directory", f.Remove(ctx, "a/file/"), nfs3.ErrNotDir, "remove a/file/: nfs: RMDIR file: NFS3ERR_NOTDIR"},
			{"remove a full directory", f.Remove(ctx, "a/d"), fs.ErrExist, "remove a/d: nfs: RMDIR d: NFS3ERR_NOTEMPTY"},
			{"remove a directory", f.Remove(ctx, "c/new"), nil, ""},
			{"remove a directory with a slash", f.Remove(ctx, "c/new2/"), nil, ""},
			{"remove .", f.Remove(ctx, "c/."), fs.ErrInvalid, "remove c/.: invalid argument"},
			{"removeall of nothing", f.RemoveAll(ctx, "none"), nil, ""},
			{"removeall in nothing", f.RemoveAll(ctx, "none/none"), nil, ""},
			{"removeall of the root", f.RemoveAll(ctx, "/"), fs.ErrInvalid, "removeall /: invalid argument"},
		} {
			if !errors.Is(tt.err, tt.want) || (tt.err == nil) != (tt.want == nil) || tt.err != nil && tt.err.Error() != tt.text {
				t.Errorf("%s: got %v, want %v", tt.what, tt.err, tt.text)
			}
		}
		got := [][]string{names(t, f, ""), names(t, f, "a"), names(t, f, "a/d"), names(t, f, "b"), names(t, f, "c")}
		want := [][]string{{"a", "b", "c"}, {"d", "file"}, {"e"}, {"sym2"}, {}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if i := must(f.Stat(ctx, "a"))(t); i.Mode() != fs.ModeDir|fs.ModeSticky|0o750 || !i.IsDir() {
			t.Errorf("a directory: %v", i)
		}
		if i := must(f.Stat(ctx, "b/sym2"))(t); i.Mode() != fs.ModeSocket|0o600 || i.Attr().Nlink != 1 || i.Name() != "sym2" {
			t.Errorf("a socket: %v", i)
		}
	})
}

func TestAttributes(t *testing.T) {
	f := local(t, nfsfs.Config{})
	ctx := t.Context()
	write(t, f, "file", "text")
	ok(t, f.Symlink(ctx, "file", "link"))
	at, mt := time.Unix(1<<32-1, 123456789), time.Unix(0, 1)
	ok(t, f.Chmod(ctx, "link", 0o741|fs.ModeSetgid|fs.ModeDir), f.Chown(ctx, "link", 5, -1), f.Chtimes(ctx, "link", at, time.Time{}),
		f.Truncate(ctx, "link", 9), f.Chtimes(ctx, "link", time.Time{}, mt), f.LSetAttr(ctx, "link", nfs3.Sattr{GID: nfs3.Set32{Set: true, To: 7}}))
	i := must(f.Stat(ctx, "link"))(t)
	if a := i.Attr(); i.Mode() != 0o741|fs.ModeSetgid || a.UID != 5 || a.GID != 0 || i.Size() != 9 || !a.Atime.Time().Equal(at) || !i.ModTime().Equal(mt) {
		t.Errorf("%v, %+v", i, a)
	}
	if i := must(f.Lstat(ctx, "link"))(t); i.Attr().GID != 7 || i.Attr().UID != 0 {
		t.Errorf("the link: %v, %+v", i, i.Attr())
	}
	o := must(f.OpenFile(ctx, "file", os.O_RDWR, 0))(t)
	ok(t, o.SetAttr(nfs3.Sattr{UID: nfs3.Set32{Set: true, To: 6}}), o.Close())
	if a := must(f.Stat(ctx, "file"))(t).Attr(); a.UID != 6 {
		t.Errorf("by the file: %+v", a)
	}
	for name, err := range map[string]error{
		"chown -2": f.Chown(ctx, "file", -2, 0), "chgrp -2": f.Chown(ctx, "file", 0, -2), "truncate": f.Truncate(ctx, "file", -1),
		"before 1970": f.Chtimes(ctx, "file", time.Unix(-1, 0), time.Time{}), "after 2106": f.Chtimes(ctx, "file", time.Time{}, time.Unix(1<<32, 0)),
	} {
		if !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if s := must(f.StatFS(ctx, "file"))(t); s.TotalBytes == 0 {
		t.Errorf("%+v", s)
	}
	if s := must(f.FSInfo(ctx))(t); s.RtMax == 0 {
		t.Errorf("%+v", s)
	}
}

// TestRemoveAll removes a large directory and other files, and a link, which is not followed.
func TestRemoveAll(t *testing.T) {
	f := local(t, nfsfs.Config{})
	ctx := t.Context()
	ok(t, f.MkdirAll(ctx, "tree/a/b/c", 0o755), f.MkdirAll(ctx, "tree/large", 0o755), f.Mkdir(ctx, "keep", 0o755))
	write(t, f, "keep/file", "text")
	ok(t, f.Symlink(ctx, "../keep", "tree/link"), f.Symlink(ctx, "keep", "link"))
	for i := range 10000 {
		ok(t, f.Mknod(ctx, fmt.Sprint("tree/large/", i), nfs3.TypeFIFO, nfs3.Specdata{}, 0o600))
	}
	ok(t, f.RemoveAll(ctx, "tree"), f.RemoveAll(ctx, "link"))
	if got := names(t, f, ""); !slices.Equal(got, []string{"keep"}) {
		t.Errorf("left: %q", got)
	}
	if got := names(t, f, "keep"); !slices.Equal(got, []string{"file"}) {
		t.Errorf("left: %q", got)
	}
}

// TestRemoveAllGoesOn: RemoveAll removes what it can, and returns the first error.
func TestRemoveAllGoesOn(t *testing.T) {
	conn := pipe.New(server(t, nil), pipe.Chunked)
	f := mount(t, conn, 0, nfsfs.Config{})
	user := mount(t, conn, 1000, nfsfs.Config{})
	ctx := t.Context()
	ok(t, f.Chmod(ctx, "", 0o777), user.MkdirAll(ctx, "tree/a/mine", 0o755), f.Mkdir(ctx, "tree/b", 0o755), user.Mkdir(ctx, "tree/c", 0o755))
	write(t, f, "tree/b/file", "")
	err := user.RemoveAll(ctx, "tree")
	if want := "removeall tree: nfs: REMOVE file: NFS3ERR_ACCES"; !errors.Is(err, fs.ErrPermission) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if got := names(t, f, "tree"); !slices.Equal(got, []string{"b"}) {
		t.Errorf("left: %q", got)
	}
}

// answering changes the server's answers to a procedure by change.
func answering[A, R any, PA interface {
	*A
	UnmarshalXDR(*xdr.Decoder)
}, PR interface {
	*R
	MarshalXDR(*xdr.Encoder)
}](p nfs3.Proc, do func(PA, PR)) func([]oncrpc.Program) {
	return func(progs []oncrpc.Program) {
		progs[0].Procedures[p] = oncrpc.Procedure{Handler: func(_ context.Context, c *oncrpc.Call) error {
			a, r := PA(new(A)), PR(new(R))
			a.UnmarshalXDR(c.Args)
			do(a, r)
			r.MarshalXDR(c.Results)
			return nil
		}}
	}
}

// TestRemoveDirectoryStatus: servers use several statuses for a REMOVE of a directory.
func TestRemoveDirectoryStatus(t *testing.T) {
	for _, status := range []nfs3.Status{nfs3.ErrIsDir, nfs3.ErrPerm, nfs3.ErrAcces, nfs3.ErrInval, nfs3.ErrNotSupp} {
		srv := server(t, answering(nfs3.ProcRemove, func(_ *nfs3.RemoveArgs, r *nfs3.RemoveRes) { r.Status = status }))
		f := mount(t, pipe.New(srv, pipe.Inline), 0, nfsfs.Config{})
		ctx := t.Context()
		ok(t, f.MkdirAll(ctx, "a/b", 0o755), f.Mkdir(ctx, "c", 0o755), f.Remove(ctx, "c"), f.RemoveAll(ctx, "a"))
		if got := names(t, f, ""); len(got) != 0 {
			t.Errorf("%v: left %q", status, got)
		}
		if write(t, f, "file", ""); status != nfs3.ErrIsDir {
			if err := f.Remove(ctx, "file"); !errors.Is(err, status) {
				t.Errorf("got %v, want %v", err, status)
			}
		}
	}
}

// TestRemoveAllHostile: a server that still lists removed files, and one with endless directories.
func TestRemoveAllHostile(t *testing.T) {
	dir := nfs3.PostOpAttrOf(nfs3.Fattr{Type: nfs3.TypeDir})
	n := 0
	for name, change := range map[string]func([]oncrpc.Program){
		"lists on": answering(nfs3.ProcReadDirPlus, func(a *nfs3.ReadDirPlusArgs, r *nfs3.ReadDirPlusRes) {
			for i := range 100 {
				r.Entries = append(r.Entries, nfs3.Entry{Name: fmt.Sprint("gone", i), Cookie: a.Cookie + uint64(i) + 1})
			}
		}),
		"has no bottom": func(progs []oncrpc.Program) {
			answering(nfs3.ProcReadDirPlus, func(_ *nfs3.ReadDirPlusArgs, r *nfs3.ReadDirPlusRes) {
				r.Entries, r.EOF = []nfs3.Entry{{Name: "d", Cookie: 1, Attr: dir}}, true
			})(progs)
			answering(nfs3.ProcLookup, func(_ *nfs3.LookupArgs, r *nfs3.LookupRes) {
				n++
				r.File, r.Attr = nfs3.MakeFH(fmt.Append(nil, n)), dir
			})(progs)
		},
		"is in itself": func(progs []oncrpc.Program) {
			answering(nfs3.ProcReadDirPlus, func(_ *nfs3.ReadDirPlusArgs, r *nfs3.ReadDirPlusRes) {
				r.Entries, r.EOF = []nfs3.Entry{{Name: "d", Cookie: 1, Attr: dir}}, true
			})(progs)
			answering(nfs3.ProcLookup, func(_ *nfs3.LookupArgs, r *nfs3.LookupRes) { r.File, r.Attr = nfs3.MakeFH([]byte("d")), dir })(progs)
		},
	} {
		removed := func(progs []oncrpc.Program) {
			change(progs)
			answering(nfs3.ProcRemove, func(a *nfs3.RemoveArgs, r *nfs3.RemoveRes) {
				if r.Status = nfs3.OK; a.What.Name == "d" {
					r.Status = nfs3.ErrIsDir
				}
			})(progs)
		}
		f := mount(t, pipe.New(server(t, removed), pipe.Inline), 0, nfsfs.Config{})
		ok(t, f.Mkdir(t.Context(), "d", 0o755))
		if err := f.RemoveAll(t.Context(), "d"); err == nil {
			t.Errorf("%s: removed", name)
		}
	}
}

// TestMissing: the client asks for attributes and handles that a server leaves out of its replies.
func TestMissing(t *testing.T) {
	bare := func(progs []oncrpc.Program) {
		procs := progs[0].Procedures
		without(procs, nfs3.ProcLookup, func(r *nfs3.LookupRes) { r.Attr.Present = false })
		without(procs, nfs3.ProcCreate, func(r *nfs3.CreateRes) { r.Attr.Present, r.File.Present = false, false })
		without(procs, nfs3.ProcMkdir, func(r *nfs3.CreateRes) { r.Attr.Present, r.File.Present = false, false })
		without(procs, nfs3.ProcReadDirPlus, func(r *nfs3.ReadDirPlusRes) {
			for i := range r.Entries {
				r.Entries[i].Attr.Present, r.Entries[i].File.Present = i%2 == 0 && i%3 == 0, i%2 == 0
			}
		})
	}
	f := mount(t, pipe.New(server(t, bare), pipe.Inline), 0, nfsfs.Config{})
	ctx := t.Context()
	for i := range 6 {
		write(t, f, fmt.Sprint("file", i), "1234567"[:i])
	}
	ok(t, f.Mkdir(ctx, "sub", 0o755), f.Symlink(ctx, "sub", "link"))
	n := 0
	for e, err := range f.Entries(ctx, "") {
		ok(t, err)
		if i := must(f.Lstat(ctx, e.Name()))(t); i.Handle() != e.Handle() || *i.Attr() != *e.Attr() {
			t.Errorf("%s: %v, want %v", e.Name(), e, i)
		}
		n++
	}
	if i := must(f.Stat(ctx, "link/"))(t); n != 8 || !i.IsDir() {
		t.Errorf("%d entries, %v", n, i)
	}
}

// TestUnsearchable: a directory that may be read but not searched is listed.
func TestUnsearchable(t *testing.T) {
	srv := server(t, func(progs []oncrpc.Program) {
		without(progs[0].Procedures, nfs3.ProcReadDirPlus, func(r *nfs3.ReadDirPlusRes) {
			for i := range r.Entries {
				r.Entries[i].Attr.Present, r.Entries[i].File.Present = false, false
			}
		})
	})
	conn := pipe.New(srv, pipe.Inline)
	f := mount(t, conn, 0, nfsfs.Config{})
	ok(t, f.MkdirAll(t.Context(), "dir/a", 0o755), f.Mkdir(t.Context(), "dir/b", 0o755), f.Chmod(t.Context(), "dir", 0o744))
	user := mount(t, conn, 1000, nfsfs.Config{})
	var got []string
	for e, err := range user.Entries(t.Context(), "dir") {
		got = append(got, e.Name(), err.Error())
	}
	want := []string{"a", "lstat dir/a: nfs: LOOKUP a: NFS3ERR_ACCES", "b", "lstat dir/b: nfs: LOOKUP b: NFS3ERR_ACCES"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if list, err := user.ReadDir(t.Context(), "dir"); len(list) != 0 || !errors.Is(err, fs.ErrPermission) {
		t.Errorf("%v, %v", list, err)
	}
}

// without modifies the answers of a procedure.
func without[R any, PR interface {
	*R
	MarshalXDR(*xdr.Encoder)
	UnmarshalXDR(*xdr.Decoder)
}](procs []oncrpc.Procedure, p nfs3.Proc, change func(PR)) {
	original := procs[p].Handler
	procs[p].Handler = func(ctx context.Context, c *oncrpc.Call) error {
		real := c.Results
		var e xdr.Encoder
		c.Results = &e
		err := original(ctx, c)
		c.Results = real
		if err != nil {
			return err
		}
		m := e.Message()
		var d xdr.Decoder
		d.Reset(m.AppendTo(nil), nil)
		r := PR(new(R))
		r.UnmarshalXDR(&d)
		change(r)
		r.MarshalXDR(real)
		return d.Finish()
	}
}
