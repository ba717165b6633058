//go:build linux

package dirfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs/vfstest"
)

// restart closes f and opens its directory again.
func restart(tb testing.TB, f *FS) *FS {
	tb.Helper()
	if err := f.Close(); err != nil {
		tb.Fatal(err)
	}
	again, err := New(configOf(f))
	if err != nil {
		tb.Fatal(err)
	}
	return again
}

// configOf returns the configuration of f.
func configOf(f *FS) Config {
	_, byName := f.tree.files.(*byName)
	cfg := Config{Path: f.tree.host.path, Logger: f.tree.host.logger, ByName: byName}
	if f.lock != nil {
		cfg.State = filepath.Dir(f.lock.Name())
	}
	return cfg
}

// stateFile returns the path of a file of the state directory.
func stateFile(f *FS, name string) string { return filepath.Join(filepath.Dir(f.lock.Name()), name) }

// openState returns the file system of an empty directory. It finds files by their names.
func openState(tb testing.TB) *FS { return openWith(tb, Config{ByName: true}) }

// openWith returns the file system of an empty directory with an empty state directory.
func openWith(tb testing.TB, cfg Config) *FS {
	tb.Helper()
	cfg.Path, cfg.State = tempDir(tb), filepath.Join(tb.TempDir(), "deep", "state")
	f, err := New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

func byNameOf(f *FS) *byName { return f.tree.files.(*byName) }

// bothWays runs a test by the kernel's handles and by names.
func bothWays(t *testing.T, test func(t *testing.T, byName bool)) {
	t.Run("kernel", func(t *testing.T) {
		needRoot(t)
		test(t, false)
	})
	t.Run("names", func(t *testing.T) { test(t, true) })
}

func mkdir(tb testing.TB, f *FS, dir nfs3.FH, name string) nfs3.FH {
	tb.Helper()
	o, _, err := f.Mkdir(tb.Context(), super, dir, name, &nfs3.Sattr{})
	if err != nil {
		tb.Fatal(err)
	}
	return o.File
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// wantData checks that a handle leads to data.
func wantData(tb testing.TB, f *FS, h nfs3.FH, want string) {
	tb.Helper()
	if got, _, err := vfstest.Read(tb.Context(), f, super, h, 0, 100); string(got) != want || err != nil {
		tb.Errorf("read %q, %v; want %q", got, err, want)
	}
}

// TestStateErrors: errors in the configuration are reported.
func TestStateErrors(t *testing.T) {
	dir, other, top := tempDir(t), tempDir(t), tempDir(t)
	state := filepath.Join(top, "state")
	file := filepath.Join(top, "file")
	must(t, os.WriteFile(file, nil, 0o644))
	f := newIn(t, Config{Path: dir, State: state, ByName: true})
	used, err := New(Config{Path: other, State: filepath.Join(top, "others")})
	must(t, err)
	must(t, used.Close())
	damaged := filepath.Join(top, "damaged")
	must(t, os.Mkdir(damaged, 0o700))
	must(t, os.WriteFile(filepath.Join(damaged, identityFile), []byte("{"), 0o600))
	short := filepath.Join(top, "short")
	must(t, os.Mkdir(short, 0o700))
	must(t, os.WriteFile(filepath.Join(short, identityFile), []byte("{}"), 0o600))
	newer := filepath.Join(top, "newer")
	must(t, os.Mkdir(newer, 0o700))
	must(t, os.WriteFile(filepath.Join(newer, identityFile), []byte(`{"Version":2}`), 0o600))
	later := filepath.Join(top, "later")
	must(t, os.Mkdir(later, 0o700))
	must(t, os.WriteFile(filepath.Join(later, segmentPrefix+"7"), []byte("dirnames\x02"), 0o600))
	link := filepath.Join(top, "link")
	must(t, os.Symlink(dir, link))
	for _, tt := range []struct {
		name string
		cfg  Config
		want string
		is   error
	}{
		{"missing directory", Config{Path: filepath.Join(dir, "missing")}, "no such file", fs.ErrNotExist},
		{"file", Config{Path: file}, "not a directory", nil},
		{"state in use", Config{Path: dir, State: state}, "in use", nil},
		{"state of another directory", Config{Path: dir, State: filepath.Join(top, "others")}, "belongs to another directory: to what was " + other, nil},
		{"state is a file", Config{Path: dir, State: file}, "not a directory", nil},
		{"state below a file", Config{Path: dir, State: filepath.Join(file, "x")}, "not a directory", nil},
		{"state inside", Config{Path: dir, State: filepath.Join(dir, "sub", "state")}, "clients could read it", nil},
		{"state is the directory", Config{Path: dir, State: dir}, "clients could read it", nil},
		{"state inside, by a link", Config{Path: dir, State: filepath.Join(link, "sub")}, "clients could read it", nil},
		{"damaged state", Config{Path: dir, State: damaged}, "unexpected end", nil},
		{"no key", Config{Path: dir, State: short}, "a key has 0 bytes", nil},
		{"newer state", Config{Path: dir, State: newer}, "version 2 of the format", nil},
		{"newer names", Config{Path: dir, State: later}, "version 2 of the format", nil},
	} {
		f, err := New(tt.cfg)
		if err == nil {
			f.Close()
			t.Errorf("%s: no error", tt.name)
			continue
		}
		if !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "dirfs: ") || tt.is != nil && !errors.Is(err, tt.is) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) > 0 {
		t.Errorf("in the directory there are now %v, %v", names, err)
	}
	// No other user can read the key.
	for _, name := range []string{identityFile, segmentPrefix + "1", lockFile} {
		st, err := os.Stat(stateFile(f, name))
		if err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, st, err)
		}
	}
	if st, err := os.Stat(state); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("state directory: %v, %v", st, err)
	}
}

// TestStateReadOnly: a state directory that cannot be written is reported at once.
func TestStateReadOnly(t *testing.T) {
	state := t.TempDir()
	mountOn(t, state, "tmpfs", "tmpfs", unix.MS_RDONLY, "mode=0700")
	if f, err := New(Config{Path: tempDir(t), State: state}); err == nil || !strings.Contains(err.Error(), "not writable") {
		t.Errorf("%v, %v", f, err)
	}
}

// TestOtherKey: handles made with another key are refused.
func TestOtherKey(t *testing.T) {
	f := openState(t)
	h := create(t, f, "file")
	must(t, f.Close())
	must(t, os.Remove(stateFile(f, identityFile)))
	f, err := New(configOf(f))
	must(t, err)
	defer f.Close()
	if _, err := f.GetAttr(t.Context(), h); err != nfs3.ErrBadHandle {
		t.Error(err)
	}
	// Not even for the same ID.
	id := key{1, 2}.id()
	forged := f.tree.sealer.sealed(&id, new([macLen]byte))
	if _, err := f.GetAttr(t.Context(), forged); err != nfs3.ErrBadHandle {
		t.Error(err)
	}
	o, _, err := f.Lookup(t.Context(), super, f.Root(), "file")
	if err != nil || o == (vfs.Object{}) {
		t.Error(err)
	}
}

// TestWithoutState: without state, another FS of the same directory does not know the handles.
func TestWithoutState(t *testing.T) {
	dir := tempDir(t)
	one, two := newIn(t, Config{Path: dir}), newIn(t, Config{Path: dir})
	h := create(t, one, "file")
	if _, err := two.GetAttr(t.Context(), h); err != nfs3.ErrBadHandle || one.ID() == two.ID() {
		t.Error(err)
	}
}

// TestStateOfOthers: a directory where another user may have placed a key is refused.
func TestStateOfOthers(t *testing.T) {
	needRoot(t)
	for _, tt := range []struct {
		name string
		mode os.FileMode
		uid  int
		ok   bool
	}{
		{"ours", 0o755, 0, true},
		{"somebody else's", 0o700, 1001, false},
		{"everybody's", 0o777 | os.ModeSticky, 0, false},
		{"a group's", 0o770, 0, false},
	} {
		state := t.TempDir()
		must(t, os.Chmod(state, tt.mode))
		must(t, os.Chown(state, tt.uid, 0))
		f, err := New(Config{Path: tempDir(t), State: state})
		if got := err == nil; got != tt.ok || !tt.ok && !errors.Is(err, errUnsafe) {
			t.Errorf("%s: %v", tt.name, err)
		}
		if err == nil {
			must(t, f.Close())
		}
		if names, err := os.ReadDir(state); !tt.ok && (len(names) > 0 || err != nil) {
			t.Errorf("%s: %v, %v", tt.name, names, err)
		}
	}
}
