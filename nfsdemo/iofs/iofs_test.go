package iofs_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"testing/fstest"
	"time"

	"go.uber.org/goleak"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/internal/pipe"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/iofs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs/vfstest"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// archive returns files as a ZIP archive. Its files have no ReadAt.
func archive(tb testing.TB, files fstest.MapFS) *zip.Reader {
	tb.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, f := range files {
		if f.Mode.IsDir() {
			name += "/"
		}
		to, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: f.ModTime})
		if err == nil {
			_, err = to.Write(f.Data)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	r, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// directory returns files as a directory of the host.
func directory(tb testing.TB, files fstest.MapFS) string {
	tb.Helper()
	dir := tb.TempDir()
	if err := os.CopyFS(dir, files); err != nil {
		tb.Fatal(err)
	}
	if err := fs.WalkDir(os.DirFS(dir), ".", func(p string, d fs.DirEntry, err error) error {
		mode := fs.FileMode(0o644)
		if err == nil && d.IsDir() {
			mode = 0o755
		}
		return errors.Join(err, os.Chmod(filepath.Join(dir, p), mode))
	}); err != nil {
		tb.Fatal(err)
	}
	return dir
}

// TestConformance: files with and without ReadAt, and files too large to be kept.
func TestConformance(t *testing.T) {
	for _, tt := range []struct {
		name  string
		newFS func(testing.TB, fstest.MapFS) vfs.FS
	}{
		{"map", func(_ testing.TB, m fstest.MapFS) vfs.FS { return iofs.New(m, iofs.Config{}) }},
		{"directory", func(tb testing.TB, m fstest.MapFS) vfs.FS {
			return iofs.New(os.DirFS(directory(tb, m)), iofs.Config{})
		}},
		{"archive", func(tb testing.TB, m fstest.MapFS) vfs.FS {
			return iofs.New(archive(tb, m), iofs.Config{})
		}},
		{"archive, nothing kept", func(tb testing.TB, m fstest.MapFS) vfs.FS {
			return iofs.New(archive(tb, m), iofs.Config{Memory: 10})
		}},
	} {
		t.Run(tt.name, func(t *testing.T) { vfstest.RunReadOnly(t, tt.newFS) })
	}
}

// TestFS: our client's view of the files passes testing/fstest.
func TestFS(t *testing.T) {
	files := fstest.MapFS{
		"readme": {Data: []byte("read me\n"), Mode: 0o644}, "doc/manual": {Data: []byte("chapter 1\n"), Mode: 0o600},
		"doc/pictures/one": {Data: bytes.Repeat([]byte{1}, 100000), Mode: 0o444}, "empty": {Mode: fs.ModeDir | 0o755},
	}
	for _, from := range []fs.FS{files, archive(t, files)} {
		nfs, err := nfsserver.New(nfsserver.Config{Exports: []nfsserver.Export{
			{Path: "/", FS: iofs.New(from, iofs.Config{}), Rules: []nfsserver.Rule{{Squash: nfsserver.SquashNone}}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		rpc := oncrpc.NewServer(oncrpc.ServerConfig{})
		if err := rpc.Handle(nfs.Programs()...); err != nil {
			t.Fatal(err)
		}
		cred, err := oncrpc.AuthSys(oncrpc.SysCred{})
		if err != nil {
			t.Fatal(err)
		}
		client := nfsclient.New(pipe.New(rpc, pipe.Chunked), cred)
		root, err := client.Mount(t.Context(), "/")
		if err != nil {
			t.Fatal(err)
		}
		mounted := nfsfs.New(client, root, nfsfs.Config{}).IOFS(t.Context())
		if err := fstest.TestFS(mounted, "readme", "doc/manual", "doc/pictures/one", "empty"); err != nil {
			t.Error(err)
		}
		rpc.Close()
	}
}

// TestLinks: symbolic links are links if the fs.FS supports them.
func TestLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links take privileges there")
	}
	dir := directory(t, fstest.MapFS{"file": {Data: []byte("data")}})
	if err := os.Symlink("file", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	f := iofs.New(os.DirFS(dir), iofs.Config{Owner: vfs.Cred{UID: 5, GID: 6}})
	o, _, err := f.Lookup(t.Context(), &vfs.Cred{}, f.Root(), "link")
	if a := o.Attr.Attr; err != nil || a.Type != nfs3.TypeLnk || a.UID != 5 || a.GID != 6 {
		t.Fatalf("%+v, %v", a, err)
	}
	if to, _, err := f.ReadLink(t.Context(), &vfs.Cred{}, o.File); to != "file" || err != nil {
		t.Errorf("%q, %v", to, err)
	}
	if f.Info().Properties&nfs3.FSFSymlink == 0 {
		t.Error("the file system says that it has no links")
	}
}

// TestChanging: changes in the fs.FS are visible to clients. Entries that stay are listed once.
func TestChanging(t *testing.T) {
	files := fstest.MapFS{"b": {Data: []byte("b")}, "d": {Data: []byte("d")}}
	f := iofs.New(files, iofs.Config{})
	b, _, err := f.Lookup(t.Context(), &vfs.Cred{}, f.Root(), "b")
	if err != nil {
		t.Fatal(err)
	}
	read := func() (all []string) {
		_, err := f.ReadDir(t.Context(), &vfs.Cred{}, f.Root(), 0, nfs3.Verifier{}, true, func(e *nfs3.Entry) bool {
			all = append(all, e.Name)
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	if got := read(); len(got) != 4 {
		t.Errorf("%q", got)
	}
	delete(files, "b")
	files["a"] = &fstest.MapFile{Data: []byte("a")}
	if got := read(); len(got) != 4 || got[2] != "d" || got[3] != "a" {
		t.Errorf("%q", got)
	}
	if _, err := f.GetAttr(t.Context(), b.File); !errors.Is(err, nfs3.ErrStale) {
		t.Errorf("a file that is gone: %v", err)
	}
}

// TestCookies: cookies are good with their verifier, and with that of a client that keeps none.
func TestCookies(t *testing.T) {
	f := iofs.New(fstest.MapFS{"a": {}, "b": {}}, iofs.Config{})
	var own nfs3.Verifier
	list := func(cookie uint64, verf nfs3.Verifier) (all []nfs3.Entry, err error) {
		r, err := f.ReadDir(t.Context(), &vfs.Cred{}, f.Root(), cookie, verf, true, func(e *nfs3.Entry) bool {
			all = append(all, *e)
			return true
		})
		own = r.Verf
		return all, err
	}
	all, err := list(0, nfs3.Verifier{})
	if err != nil || len(all) != 4 {
		t.Fatalf("%v, %v", all, err)
	}
	for _, verf := range []nfs3.Verifier{own, {}} {
		if rest, err := list(all[2].Cookie, verf); err != nil || len(rest) != 1 || rest[0].Name != "b" {
			t.Errorf("with verifier %x: %v, %v", verf, rest, err)
		}
	}
	if _, err := list(all[2].Cookie, nfs3.Verifier{1}); err != nfs3.ErrBadCookie {
		t.Errorf("with another verifier: %v", err)
	}
}

// TestTimes: files have the nearest time that NFS has.
func TestTimes(t *testing.T) {
	last := nfs3.Time{Sec: 1<<32 - 1, Nsec: 1e9 - 1}
	for year, want := range map[int]nfs3.Time{
		1:    {}, // none
		1600: {},
		1960: {},
		1971: {Sec: 365 * 24 * 3600},
		2120: last,
		2300: last,
	} {
		at := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
		f := iofs.New(fstest.MapFS{"file": {ModTime: at}}, iofs.Config{})
		o, _, err := f.Lookup(t.Context(), &vfs.Cred{}, f.Root(), "file")
		if a := o.Attr.Attr; err != nil || a.Mtime != want {
			t.Errorf("%d: got %v, %v, want %v", year, a.Mtime, err, want)
		}
	}
}

// failing is an fs.FS whose file fails.
type failing struct{ fs.FS }

func (f failing) Open(name string) (fs.File, error) {
	in, err := f.FS.Open(name)
	if err != nil || name != "bad" {
		return in, err
	}
	return badFile{in}, nil
}

type badFile struct{ fs.File }

func (badFile) Read([]byte) (int, error) { return 0, io.ErrClosedPipe }

// TestErrors: errors of the fs.FS become NFS statuses.
func TestErrors(t *testing.T) {
	f := iofs.New(failing{fstest.MapFS{"bad": {Data: []byte("x")}}}, iofs.Config{})
	o, _, err := f.Lookup(t.Context(), &vfs.Cred{}, f.Root(), "bad")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := vfstest.Read(t.Context(), f, &vfs.Cred{}, o.File, 0, 1); !errors.Is(err, nfs3.ErrIO) || !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("read: %v", err)
	}
}
