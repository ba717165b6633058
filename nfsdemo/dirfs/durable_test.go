//go:build linux

package dirfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs/vfstest"
)

// disk is a file system whose device is a file. That file holds what would survive a crash.
type disk struct {
	image string
	dir   string // on which it is mounted
}

// Features of a disk. Without a journal, only data that was synced or is old reaches the device,
// for each file and directory by itself. With a journal, a sync also covers everything done before.
const (
	noJournal   = "^has_journal"
	withJournal = "has_journal"
)

// newDisk mounts a disk.
func newDisk(t *testing.T, features string) *disk {
	t.Helper()
	needRoot(t)
	if _, err := os.Stat("/dev/loop-control"); err != nil {
		t.Skipf("needs loop devices: %v", err)
	}
	d := &disk{filepath.Join(tempIn(t, shm), "image"), t.TempDir()}
	runCommand(t, "mkfs.ext4", "-q", "-O", features, "-E", "lazy_itable_init=0", d.image, "8m")
	mountImage(t, d.image, d.dir)
	return d
}

func runCommand(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%q: %v\n%s", args, err, out)
	}
}

func mountImage(t *testing.T, image, dir string) {
	t.Helper()
	runCommand(t, "mount", "-o", "loop", image, dir)
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

// crash returns a directory with what would be left if the host crashed now.
func (d *disk) crash(t *testing.T) string {
	t.Helper()
	from, err := os.Open(d.image)
	must(t, err)
	defer from.Close()
	image := filepath.Join(tempIn(t, shm), "image")
	to, err := os.Create(image)
	must(t, err)
	_, err = io.Copy(to, from)
	must(t, errors.Join(err, to.Close()))
	dir := t.TempDir()
	mountImage(t, image, dir)
	return dir
}

// TestDurable: everything that was answered survives a crash of the host (RFC 1813 section 4.8),
// except unstable WRITEs.
func TestDurable(t *testing.T) {
	data := []byte("data")
	is := func(name string) func(string) error {
		return func(dir string) error {
			_, err := os.Lstat(filepath.Join(dir, name))
			return err
		}
	}
	isNot := func(name string) func(string) error {
		return func(dir string) error {
			if err := is(name)(dir); !errors.Is(err, fs.ErrNotExist) {
				return errors.Join(err, errors.New(name+" is there"))
			}
			return nil
		}
	}
	all := func(checks ...func(string) error) func(string) error {
		return func(dir string) error {
			var err error
			for _, c := range checks {
				err = errors.Join(err, c(dir))
			}
			return err
		}
	}
	has := func(name string) func(string) error {
		return func(dir string) error {
			b, err := os.ReadFile(filepath.Join(dir, name))
			if err == nil && string(b) != string(data) {
				err = errors.New(name + " has not the data")
			}
			return err
		}
	}
	write := func(t *testing.T, f *FS, h nfs3.FH, how nfs3.StableHow) error {
		t.Helper()
		return first(f.Write(t.Context(), super, h, 0, vfstest.Bulk(data), how))
	}
	for _, tt := range []struct {
		name  string
		call  func(t *testing.T, f *FS, file, a, b nfs3.FH) error
		there func(dir string) error
		// journal is whether the case needs one. No system call syncs a single link or device, only
		// the whole file system.
		journal bool
	}{
		{"CREATE", func(t *testing.T, f *FS, _, a, _ nfs3.FH) error {
			return second(f.Create(t.Context(), super, a, "new", &nfs3.CreateHow{}))
		}, is("a/new"), false},
		{"MKDIR", func(t *testing.T, f *FS, _, a, _ nfs3.FH) error {
			return second(f.Mkdir(t.Context(), super, a, "new", &nfs3.Sattr{}))
		}, is("a/new/."), false},
		{"SYMLINK", func(t *testing.T, f *FS, _, a, _ nfs3.FH) error {
			return second(f.Symlink(t.Context(), super, a, "new", "to", &nfs3.Sattr{}))
		}, is("a/new"), true},
		{"MKNOD", func(t *testing.T, f *FS, _, a, _ nfs3.FH) error {
			return second(f.Mknod(t.Context(), super, a, "new", nfs3.TypeFIFO, nfs3.Specdata{}, &nfs3.Sattr{}))
		}, is("a/new"), true},
		{"LINK", func(t *testing.T, f *FS, file, _, b nfs3.FH) error {
			return second(f.Link(t.Context(), super, file, b, "new"))
		}, all(is("b/new"), func(dir string) error {
			st, err := os.Stat(filepath.Join(dir, "a/file"))
			if err == nil && st.Sys().(*syscall.Stat_t).Nlink != 2 {
				err = errors.New("the file has one name, as it says")
			}
			return err
		}), false},
		{"REMOVE", func(t *testing.T, f *FS, _, a, _ nfs3.FH) error {
			return first(f.Remove(t.Context(), super, a, "file"))
		}, isNot("a/file"), false},
		{"RMDIR", func(t *testing.T, f *FS, _, a, _ nfs3.FH) error {
			return first(f.Rmdir(t.Context(), super, a, "dir"))
		}, isNot("a/dir"), false},
		{"RENAME", func(t *testing.T, f *FS, _, a, b nfs3.FH) error {
			return second(f.Rename(t.Context(), super, a, "file", b, "new"))
		}, all(is("b/new"), isNot("a/file")), false},
		{"RENAME in a directory", func(t *testing.T, f *FS, _, a, _ nfs3.FH) error {
			return second(f.Rename(t.Context(), super, a, "file", a, "new"))
		}, all(is("a/new"), isNot("a/file")), false},
		{"SETATTR", func(t *testing.T, f *FS, file, _, _ nfs3.FH) error {
			set := nfs3.Sattr{Mode: nfs3.Set32{Set: true, To: 0o604}}
			return first(f.SetAttr(t.Context(), super, file, &set, nil))
		}, func(dir string) error {
			st, err := os.Stat(filepath.Join(dir, "a/file"))
			if err == nil && st.Mode().Perm() != 0o604 {
				err = errors.New("the mode is the old one")
			}
			return err
		}, false},
		{"WRITE DATA_SYNC", func(t *testing.T, f *FS, file, _, _ nfs3.FH) error {
			return write(t, f, file, nfs3.DataSync)
		}, has("a/file"), false},
		{"WRITE FILE_SYNC", func(t *testing.T, f *FS, file, _, _ nfs3.FH) error {
			return write(t, f, file, nfs3.FileSync)
		}, has("a/file"), false},
		{"COMMIT", func(t *testing.T, f *FS, file, _, _ nfs3.FH) error {
			return errors.Join(write(t, f, file, nfs3.Unstable), first(f.Commit(t.Context(), super, file, 0, 0)))
		}, has("a/file"), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			features := noJournal
			if tt.journal {
				features = withJournal
			}
			d := newDisk(t, features)
			f := newIn(t, Config{Path: d.dir})
			a := mkdir(t, f, f.Root(), "a")
			b := mkdir(t, f, f.Root(), "b")
			mkdir(t, f, a, "dir")
			file := createIn(t, f, a, "file")
			runCommand(t, "sync", "-f", d.dir)
			if err := tt.there(d.crash(t)); err == nil {
				t.Fatal("it is there before the call")
			}
			must(t, tt.call(t, f, file, a, b))
			if err := tt.there(d.crash(t)); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestDurableControl: the disk loses what was not synced; otherwise TestDurable could not fail. The
// host may write data back at any time, so this tries several times.
func TestDurableControl(t *testing.T) {
	d := newDisk(t, noJournal)
	f := newIn(t, Config{Path: d.dir})
	for i := range 20 {
		name, hosts := fmt.Sprint("file", i), fmt.Sprint("host's", i)
		h := create(t, f, name)
		runCommand(t, "sync", "-f", d.dir)
		write(t, f, h, 0, []byte("data"))
		must(t, os.WriteFile(filepath.Join(d.dir, hosts), nil, 0o600))
		dir := d.crash(t)
		b, err := os.ReadFile(filepath.Join(dir, name))
		_, herr := os.Stat(filepath.Join(dir, hosts))
		if err == nil && len(b) == 0 && errors.Is(herr, fs.ErrNotExist) {
			return
		}
	}
	t.Error("what was not synced is on the disk")
}

// TestDurableState: handles given to clients are valid after a crash of the host.
func TestDurableState(t *testing.T) {
	bothWays(t, func(t *testing.T, byName bool) {
		d := newDisk(t, noJournal)
		runCommand(t, "sync", "-f", d.dir)
		cfg := Config{Path: tempDir(t), State: filepath.Join(d.dir, "deep", "state"), ByName: byName}
		f := newIn(t, cfg)
		h := create(t, f, "file")
		cfg.State = filepath.Join(d.crash(t), "deep", "state")
		after := newIn(t, cfg)
		if _, err := after.GetAttr(t.Context(), h); err != nil {
			t.Error(err)
		}
	})
}

// TestACLUnreadable: an access control list that cannot be read permits nothing.
func TestACLUnreadable(t *testing.T) {
	h := newHost(t.TempDir(), nil)
	a := nfs3.Fattr{Type: nfs3.TypeReg, Mode: 0o666, UID: 1, GID: somebody.GID}
	for _, want := range []uint32{vfs.MayRead, vfs.MayWrite} {
		p := h.perm(somebody, &a, func() (acl, error) { return nil, unix.EIO })
		if p.Can(somebody, want) {
			t.Errorf("the right %d is given", want)
		}
		p = h.perm(somebody, &a, func() (acl, error) { return nil, nil })
		if !p.Can(somebody, want) {
			t.Errorf("without a list, the right %d is not given", want)
		}
	}
}
