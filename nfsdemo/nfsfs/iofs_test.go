package nfsfs_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsfs"
)

// tree makes files of all sizes, directories and links.
func tree(t *testing.T, f *nfsfs.FS) (names []string) {
	t.Helper()
	ctx := t.Context()
	ok(t, f.MkdirAll(ctx, "a/b/c", 0o755), f.Mkdir(ctx, "empty", 0o700))
	for i, n := range []int{0, 1, 99, 100, 101, 500} {
		name := fmt.Sprintf("a/file%d", i)
		write(t, f, name, strings.Repeat("x", n))
		names = append(names, name)
	}
	write(t, f, "a/b/c/file", "deep")
	ok(t, f.Symlink(ctx, "b/c", "a/dirlink"), f.Symlink(ctx, "../a/file1", "a/link"))
	ok(t, f.Chmod(ctx, "a/file1", 0o4751|fs.ModeSetuid))
	return append(names, "a/b/c/file", "empty", "a/dirlink", "a/link")
}

func TestView(t *testing.T) {
	test := func(t *testing.T, f *nfsfs.FS) {
		names := tree(t, f)
		v := f.IOFS(t.Context())
		ok(t, fstest.TestFS(v, names...))
		ok(t, fstest.TestFS(must(fs.Sub(v, "a"))(t), "file5", "b/c/file", "link", "dirlink"))
	}
	test(t, local(t, nfsfs.Config{TransferSize: 100, Parallel: 3}))
	overAll(t, nfsfs.Config{}, test)
}

func TestWalkDir(t *testing.T) {
	f := local(t, nfsfs.Config{})
	tree(t, f)
	ok(t, f.Symlink(t.Context(), "nothing", "a/dangling"))
	var got []string
	ok(t, fs.WalkDir(f.IOFS(t.Context()), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !strings.HasPrefix(path, "a/file") {
			got = append(got, d.Type().String()[:1]+" "+path)
		}
		return err
	}))
	want := []string{"d .", "d a", "d a/b", "d a/b/c", "- a/b/c/file", "L a/dangling", "L a/dirlink", "L a/link", "d empty"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestViewErrors(t *testing.T) {
	f := local(t, nfsfs.Config{})
	tree(t, f)
	v := must(fs.Sub(f.IOFS(t.Context()), "a"))(t)
	_, open := v.Open("none")
	_, stat := fs.Stat(v, "b/none")
	_, list := fs.ReadDir(v, "file1")
	_, read := fs.ReadFile(v, "b")
	_, link := fs.ReadLink(v, "file1")
	_, valid := v.Open("../empty")
	for _, tt := range []struct {
		err  error
		want string
		is   error
	}{
		{open, "open none: nfs: LOOKUP none: NFS3ERR_NOENT", fs.ErrNotExist},
		{stat, "stat b/none: nfs: LOOKUP none: NFS3ERR_NOENT", fs.ErrNotExist},
		{list, "readdir file1: nfs: READDIRPLUS file1: NFS3ERR_NOTDIR", nil},
		{read, "read b: nfs: READ: NFS3ERR_ISDIR", nil},
		{link, "readlink file1: nfs: READLINK file1: NFS3ERR_INVAL", fs.ErrInvalid},
		{valid, "open ../empty: invalid argument", fs.ErrInvalid},
	} {
		if tt.err == nil || tt.err.Error() != tt.want || tt.is != nil && !errors.Is(tt.err, tt.is) {
			t.Errorf("got %v, want %s", tt.err, tt.want)
		}
	}
}

// TestReadFile: ReadFile also reads files that are larger than reported.
func TestReadFile(t *testing.T) {
	f := local(t, nfsfs.Config{TransferSize: 4096})
	want := bytes.Repeat([]byte("0123456789abcde"), 10000)
	write(t, f, "file", string(want))
	if got := must(fs.ReadFile(f.IOFS(t.Context()), "file"))(t); !bytes.Equal(got, want) {
		t.Errorf("read %d bytes, want %d", len(got), len(want))
	}
}
