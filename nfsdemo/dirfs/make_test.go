//go:build linux

package dirfs

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// TestNotOurs: if the host replaces a file that was just made, the replacement is not taken for it
// and is left alone.
func TestNotOurs(t *testing.T) {
	dir := tempDir(t)
	path := func(name string) string { return filepath.Join(dir, name) }
	must(t, unix.Mkfifo(path("fifo"), 0o600))
	must(t, os.Mkdir(path("open"), 0o755))
	must(t, os.Mkdir(path("full"), 0o700))
	must(t, os.Mkdir(path("full/sub"), 0o700))
	f := newIn(t, Config{Path: dir})
	root := f.Root()
	d, err := f.tree.holdDir(&root)
	must(t, err)
	defer d.release()
	m := making{dir: d, name: "new"}
	for _, tt := range []struct {
		what   string
		format uint32
		call   func() error
		want   error
	}{
		{"ours", unix.S_IFIFO, func() error { return unix.Mkfifo(path("new"), 0o600) }, nil},
		{"a hard link", unix.S_IFIFO, func() error { return os.Link(path("fifo"), path("new")) }, nfs3.ErrJukebox},
		{"another type", unix.S_IFIFO, func() error { return os.Mkdir(path("new"), 0o700) }, nfs3.ErrJukebox},
		{"a directory that others use", unix.S_IFDIR, func() error { return os.Rename(path("open"), path("new")) }, nfs3.ErrJukebox},
		{"a directory with others in it", unix.S_IFDIR, func() error { return os.Rename(path("full"), path("new")) }, nfs3.ErrJukebox},
		{"our directory", unix.S_IFDIR, func() error { return os.Mkdir(path("new"), 0o700) }, nil},
		{"a link", unix.S_IFDIR, func() error { return os.Symlink("/", path("new")) }, nfs3.ErrJukebox},
		{"our link", unix.S_IFLNK, func() error { return os.Symlink("/", path("new")) }, nil},
		{"nothing", unix.S_IFDIR, func() error { return nil }, unix.ENOENT},
	} {
		fd, err := m.makeAt(tt.format, func(int) error { return tt.call() })
		if err != tt.want {
			t.Errorf("%s: %v, want %v", tt.what, err, tt.want)
		}
		if err == nil {
			unix.Close(fd)
		}
		must(t, os.RemoveAll(path("new")))
	}
}

// TestFresh: a directory that root made earlier in the same place could otherwise not be told from
// one that was just made.
func TestFresh(t *testing.T) {
	f := newIn(t, Config{Path: tempDir(t)})
	made := f.tree.host.root
	made.Mode, made.Nlink, made.Btime.Sec = unix.S_IFDIR|0o700, 2, 1000
	for _, tt := range []struct {
		name    string
		changed int64
		mask    uint32
		want    bool
	}{
		{"at once", 1000, unix.STATX_BTIME, true},
		{"by a slow host", 1000 + freshFor, unix.STATX_BTIME, true},
		{"long ago", 1001 + freshFor, unix.STATX_BTIME, false},
		{"nobody knows when", 1001 + freshFor, 0, true},
	} {
		st, dir := made, made
		st.Mask = st.Mask&^unix.STATX_BTIME | tt.mask
		dir.Ctime.Sec = tt.changed
		if got := f.tree.host.fresh(&st, &dir); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
