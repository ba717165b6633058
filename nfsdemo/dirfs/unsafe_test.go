//go:build linux

package dirfs

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// TestUnsafeState: files of the state directory that others can read or may have made are refused.
// The error says what to do.
func TestUnsafeState(t *testing.T) {
	needRoot(t)
	f := openState(t)
	create(t, f, "file")
	must(t, f.Close())
	cfg := configOf(f)
	for _, name := range []string{identityFile, lockFile, segmentPrefix + "1"} {
		path := filepath.Join(cfg.State, name)
		whole, err := os.ReadFile(path)
		must(t, err)
		for _, tt := range []struct {
			hurt func() error
			want string
		}{
			{func() error { return os.Chmod(path, 0o640) }, "has mode 0640: whoever can read it can make handles; chmod it to 0600"},
			{func() error { return os.Chown(path, 1001, 0) }, "belongs to user 1001"},
			{func() error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) }, "is a directory"},
			{func() error {
				return errors.Join(os.Remove(path), os.Symlink("/dev/null", path))
			}, "too many levels of symbolic links"},
		} {
			must(t, tt.hurt())
			f, err := New(cfg)
			if err == nil {
				f.Close()
				t.Errorf("%s, %s: no error", name, tt.want)
			} else if !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), tt.want) && !strings.Contains(err.Error(), "not a regular file") {
				t.Errorf("%s: %v, want %s", name, err, tt.want)
			}
			must(t, os.Remove(path))
			must(t, os.WriteFile(path, whole, 0o600))
		}
	}
	f, err := New(cfg)
	must(t, err)
	must(t, f.Close())
}

// TestNewKey: handles of the previous key are valid, those of the key before it are not.
func TestNewKey(t *testing.T) {
	bothWays(t, func(t *testing.T, byName bool) {
		f := openWith(t, Config{ByName: byName})
		h := create(t, f, "file")
		cfg := configOf(f)
		must(t, f.Close())
		must(t, NewKey(cfg.State))
		f, err := New(cfg)
		must(t, err)
		if _, err := f.GetAttr(t.Context(), h); err != nil {
			t.Errorf("a handle of the key before: %v", err)
		}
		o, _, err := f.Lookup(t.Context(), super, f.Root(), "file")
		must(t, err)
		if o.File == h {
			t.Error("a handle of the former key is handed out")
		}
		a, err := f.tree.node(&h)
		b, berr := f.tree.node(&o.File)
		if a != b || err != nil || berr != nil {
			t.Errorf("two nodes of a file: %v, %v", err, berr)
		}
		must(t, f.Close())
		f, err = New(cfg)
		must(t, err)
		for _, h := range []nfs3.FH{h, o.File} {
			if _, err := f.GetAttr(t.Context(), h); err != nil {
				t.Errorf("after a restart: %v", err)
			}
		}
		must(t, f.Close())
		must(t, NewKey(cfg.State))
		f, err = New(cfg)
		must(t, err)
		defer f.Close()
		if _, err := f.GetAttr(t.Context(), h); err != nfs3.ErrBadHandle {
			t.Errorf("a handle of two keys before: %v", err)
		}
		if _, err := f.GetAttr(t.Context(), o.File); err != nil {
			t.Errorf("a handle of the key before: %v", err)
		}
	})
}

// TestRevokeKeys: somebody who has read the state directory can make handles, also of files that
// come later. After RevokeKeys the server refuses them, and whatever clients have.
func TestRevokeKeys(t *testing.T) {
	bothWays(t, func(t *testing.T, byName bool) {
		f := openWith(t, Config{ByName: byName})
		cfg := configOf(f)
		if err := RevokeKeys(cfg.State); err == nil || !strings.Contains(err.Error(), "in use") {
			t.Errorf("under a file system: %v", err)
		}
		root := f.Root()
		must(t, f.Close())
		must(t, NewKey(cfg.State))
		read, err := readIdentity(filepath.Join(cfg.State, identityFile))
		must(t, err)
		forge := func(f *FS, h nfs3.FH) (forged []nfs3.FH) {
			id, _, err := f.tree.sealer.parse(&h)
			must(t, err)
			for _, k := range append(read.Former, read.Key) {
				forged = append(forged, newSealer(read.ID, [][]byte{k}).handle(&id))
			}
			return forged
		}

		f, err = New(cfg)
		must(t, err)
		for _, h := range forge(f, create(t, f, "one")) {
			if _, err := f.GetAttr(t.Context(), h); err != nil {
				t.Errorf("before, a forged handle: %v; this test proves nothing", err)
			}
		}
		must(t, f.Close())
		must(t, RevokeKeys(cfg.State))
		f, err = New(cfg)
		must(t, err)
		defer f.Close()
		for _, h := range append(forge(f, create(t, f, "two")), root) {
			if _, err := f.GetAttr(t.Context(), h); err != nfs3.ErrBadHandle {
				t.Errorf("a handle with a revoked key: %v", err)
			}
		}
	})
}

// TestNoKeys: where there is no state yet, no key is made, and nothing else.
func TestNoKeys(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	must(t, RevokeKeys(dir))
	must(t, os.Mkdir(dir, 0o700))
	must(t, NewKey(dir))
	if in, err := os.ReadDir(dir); err != nil || len(in) > 0 {
		t.Errorf("got %v, %v", in, err)
	}
}

// TestMadeAgain: a directory that was removed and made again is served. Handles of its former files
// are stale and do not lead to other files.
func TestMadeAgain(t *testing.T) {
	bothWays(t, func(t *testing.T, byName bool) {
		f := openWith(t, Config{ByName: byName})
		was := f.Root()
		h := create(t, f, "file")
		id := f.ID()
		must(t, f.Close())
		cfg := configOf(f)
		must(t, os.RemoveAll(cfg.Path))
		must(t, os.Mkdir(cfg.Path, 0o755))
		f, err := New(cfg)
		must(t, err)
		defer f.Close()
		o := create(t, f, "file")
		if f.ID() != id || f.Root() == was || o == h {
			t.Error("another file system, or the same handles")
		}
		for _, h := range []nfs3.FH{was, h} {
			if _, err := f.GetAttr(t.Context(), h); err != nfs3.ErrStale {
				t.Error(err)
			}
		}
	})
}
