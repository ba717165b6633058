package vfstest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io/fs"
	"math"
	"testing"
	"testing/fstest"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// RunReadOnly runs the suite of file systems that cannot be written. newFS returns one with files
// that everybody may read.
func RunReadOnly(t *testing.T, newFS func(tb testing.TB, files fstest.MapFS) vfs.FS) {
	for _, tt := range []struct {
		name string
		run  func(*readOnly)
	}{
		{"Handles", (*readOnly).handles},
		{"Lookup", (*readOnly).lookup},
		{"Attr", (*readOnly).attrs},
		{"Read", (*readOnly).reads},
		{"ReadDir", (*readOnly).readDir},
		{"Access", (*readOnly).access},
		{"Refuses", (*readOnly).refuses},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files := readOnlyFiles()
			tt.run(&readOnly{&fixture{T: t, fs: newFS(t, files), ctx: t.Context()}, files})
		})
	}
}

// readOnly is a fixture whose file system has files.
type readOnly struct {
	*fixture
	files fstest.MapFS
}

func readOnlyFiles() fstest.MapFS {
	files := fstest.MapFS{
		"file":           {Data: []byte("contents")},
		"empty":          {},
		"large":          {Data: pattern(300001)},
		"dir/inner/deep": {Data: []byte("deep")},
		"nothing":        {Mode: fs.ModeDir | 0o755},
	}
	for i := range 100 {
		files[fmt.Sprintf("dir/file%d", i)] = &fstest.MapFile{Data: fmt.Append(nil, i)}
	}
	return files
}

// at finds a path.
func (f *readOnly) at(names ...string) nfs3.FH {
	f.Helper()
	h := f.fs.Root()
	for _, name := range names {
		o, _, err := f.fs.Lookup(f.ctx, bob, h, name)
		f.ok(err)
		if a := f.attr(o.File); o.Attr != nfs3.PostOpAttrOf(a) {
			f.Errorf("%s: LOOKUP says %+v, GETATTR %+v", name, o.Attr, a)
		}
		h = o.File
	}
	return h
}

// handles: one that was not handed out is refused by every method.
func (f *readOnly) handles() {
	other, good := f.at("empty"), f.at("file")
	bad := []nfs3.FH{{}, nfs3.MakeFH([]byte{1}), nfs3.MakeFH(make([]byte, nfs3.FHSize)),
		nfs3.MakeFH(good.Bytes()[:good.Len()-1]), nfs3.MakeFH(append(good.Bytes(), 0))}
	for i := range 8 * good.Len() {
		b := bytes.Clone(good.Bytes())
		b[i/8] ^= 1 << (i % 8)
		bad = append(bad, nfs3.MakeFH(b))
	}
	for _, h := range bad {
		for name, err := range f.everything(h, other) {
			// Of the two files of a RENAME the other one may be looked at first.
			if err != nfs3.ErrBadHandle && err != nfs3.ErrStale {
				f.Errorf("%s of handle %v: %v", name, h, err)
			}
		}
	}
}

func (f *readOnly) lookup() {
	r := f.fs.Root()
	dir := f.at("dir")
	inner := f.at("dir", "inner")
	f.wantName(dir, ".", dir)
	f.wantName(inner, "..", dir)
	f.wantName(dir, "..", r)
	f.wantName(r, "..", r)
	f.wantName(dir, "inner", inner)
	f.wantNoName(r, "missing")
	f.wantNoName(dir, "file100")
	_, _, err := f.fs.Lookup(f.ctx, root, f.at("file"), "x")
	f.want("lookup in a file", err, nfs3.ErrNotDir)
	for _, name := range []string{"", "dir/inner", "/", "x\x00"} {
		_, _, err := f.fs.Lookup(f.ctx, root, r, name)
		f.want(fmt.Sprintf("lookup of %q", name), err, nfs3.ErrAcces)
	}
	_, _, err = f.fs.Lookup(f.ctx, root, r, fmt.Sprintf("%0256d", 0))
	f.want("lookup of 256 bytes", err, nfs3.ErrNameTooLong)
}

func (f *readOnly) attrs() {
	ids := make(map[uint64]bool)
	for _, tt := range []struct {
		h    nfs3.FH
		kind nfs3.FileType
		size int
	}{
		{f.fs.Root(), nfs3.TypeDir, -1}, {f.at("dir"), nfs3.TypeDir, -1}, {f.at("nothing"), nfs3.TypeDir, -1},
		{f.at("file"), nfs3.TypeReg, 8}, {f.at("empty"), nfs3.TypeReg, 0}, {f.at("large"), nfs3.TypeReg, 300001},
	} {
		a := f.attr(tt.h)
		if a.Type != tt.kind || tt.size >= 0 && a.Size != uint64(tt.size) || a.FSID != f.fs.ID() || ids[a.FileID] {
			f.Errorf("%+v, want type %v, size %d", a, tt.kind, tt.size)
		}
		if binary.BigEndian.Uint64(tt.h.Bytes()) != f.fs.ID() {
			f.Errorf("handle %v has not the ID %x", tt.h, f.fs.ID())
		}
		ids[a.FileID] = true
		if _, post, err := f.fs.StatFS(f.ctx, tt.h); err != nil || post != nfs3.PostOpAttrOf(a) {
			f.Errorf("StatFS: %v, %+v", err, post)
		}
	}
}

func (f *readOnly) reads() {
	for _, name := range []string{"file", "empty", "large"} {
		h, want := f.at(name), f.files[name].Data
		for _, n := range []int{1 << 20, 65536, 1000, len(want), len(want) + 1} {
			if n == 0 || n < 1000 && len(want) > 1000 {
				continue
			}
			var got []byte
			for eof := false; !eof; {
				var p []byte
				p, eof = f.read(h, uint64(len(got)), n)
				if got = append(got, p...); len(p) == 0 && !eof {
					f.Fatalf("%s: no data, and not the end", name)
				}
			}
			if !bytes.Equal(got, want) {
				f.Errorf("%s, %d at a time: something else was read", name, n)
			}
		}
		for _, off := range []uint64{uint64(len(want)), uint64(len(want)) + 1, math.MaxInt64 - 1} {
			if p, eof := f.read(h, off, 1); len(p) > 0 || !eof {
				f.Errorf("%s at %d: %d bytes, EOF %v", name, off, len(p), eof)
			}
		}
	}
	// From the end to the beginning.
	h, want := f.at("large"), f.files["large"].Data
	for off := len(want) / 1000 * 1000; off >= 0; off -= 60000 {
		if p, _ := f.read(h, uint64(off), 1000); !bytes.Equal(p, want[off:min(off+1000, len(want))]) {
			f.Errorf("at %d: something else was read", off)
		}
	}
	_, _, err := Read(f.ctx, f.fs, root, f.at("dir"), 0, 1)
	f.want("read of a directory", err, nfs3.ErrIsDir)
	_, _, err = f.fs.ReadLink(f.ctx, root, h)
	f.want("readlink of a file", err, nfs3.ErrInval)
}

func (f *readOnly) readDir() {
	dir := f.at("dir")
	for _, n := range []int{1, 7, 103, 1000} {
		seen := make(map[string]bool)
		for _, e := range f.list(dir, n, func() {}) {
			if seen[e.Name] {
				f.Errorf("%d at a time: %s twice", n, e.Name)
			}
			seen[e.Name] = true
			if !e.File.Present || !e.Attr.Present || e.Attr.Attr.FileID != e.FileID {
				f.Errorf("%+v", e)
			}
			f.wantName(dir, e.Name, e.File.FH)
		}
		if len(seen) != 103 || !seen["."] || !seen[".."] || !seen["inner"] || !seen["file99"] {
			f.Errorf("%d at a time: %d names", n, len(seen))
		}
	}
	f.wantNames(f.at("nothing"))
	_, err := f.fs.ReadDir(f.ctx, root, dir, 3, nfs3.Verifier{1}, true, func(*nfs3.Entry) bool { return true })
	f.want("a cookie of nobody's", err, nfs3.ErrBadCookie)
}

func (f *readOnly) access() {
	for name, want := range map[string]nfs3.Access{
		"file": nfs3.AccessRead, "dir": nfs3.AccessRead | nfs3.AccessLookup,
	} {
		for _, c := range []*vfs.Cred{root, bob} {
			got, post, err := f.fs.Access(f.ctx, c, f.at(name), nfs3.AccessAll)
			if err != nil || got&^nfs3.AccessExecute != want || !post.Present {
				f.Errorf("%s for user %d: %v, %v, want %v", name, c.UID, got, err, want)
			}
		}
	}
}

// refuses: what would change something is refused, and changes nothing.
func (f *readOnly) refuses() {
	r, file, dir := f.fs.Root(), f.at("file"), f.at("dir")
	before := f.attr(r)
	for _, h := range []nfs3.FH{file, dir} {
		all := f.everything(h, file)
		for _, name := range []string{"SetAttr", "SetAttr size", "Write", "Create", "Mkdir", "Symlink", "Mknod",
			"Rename from", "Rename to", "Remove", "Rmdir", "Link file", "Link dir"} {
			f.want(name, all[name], nfs3.ErrROFS)
		}
	}
	_, err := f.fs.Commit(f.ctx, root, file, 0, 0)
	f.want("commit", err, nfs3.OK)
	_, err = f.fs.Commit(f.ctx, root, dir, 0, 0)
	f.want("commit of a directory", err, nfs3.ErrIsDir)
	wcc, err := f.fs.Remove(f.ctx, root, r, "file")
	f.want("remove", err, nfs3.ErrROFS)
	from, to, err := f.fs.Rename(f.ctx, root, r, "file", dir, "x")
	f.want("rename", err, nfs3.ErrROFS)
	for h, wcc := range map[nfs3.FH]nfs3.WccData{r: wcc, dir: to} {
		if wcc.After != nfs3.PostOpAttrOf(f.attr(h)) {
			f.Errorf("the attributes of what did not change: %+v", wcc)
		}
	}
	if a := f.attr(r); a != before || from.After != nfs3.PostOpAttrOf(a) {
		f.Errorf("%+v, then %+v", before, a)
	}
	if got, _ := f.read(file, 0, 100); string(got) != "contents" {
		f.Errorf("the file has %q", got)
	}
}
