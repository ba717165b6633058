//go:build linux

package dirfs

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// TestMounts: file systems mounted below the root are not entered.
func TestMounts(t *testing.T) {
	dir := tempDir(t)
	for _, name := range []string{"mounted", "bound", "plain"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	mountOn(t, filepath.Join(dir, "mounted"), "tmpfs", "tmpfs", 0, "size=1m")
	mountOn(t, filepath.Join(dir, "bound"), filepath.Join(dir, "plain"), "", unix.MS_BIND, "")
	if err := os.WriteFile(filepath.Join(dir, "mounted", "file"), []byte(secret), 0o644); err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	f := newIn(t, Config{Path: dir, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	ctx, root := t.Context(), f.Root()
	h := create(t, f, "file")
	for _, name := range []string{"mounted", "bound"} {
		if o, _, err := f.Lookup(ctx, super, root, name); !errors.Is(err, nfs3.ErrAcces) || o != (vfs.Object{}) {
			t.Errorf("lookup of %s: %+v, %v", name, o, err)
		}
		if _, err := f.Rmdir(ctx, super, root, name); !errors.Is(err, nfs3.ErrAcces) {
			t.Errorf("rmdir of %s: %v", name, err)
		}
		if _, _, err := f.Rename(ctx, super, root, name, root, "other"); !errors.Is(err, nfs3.ErrAcces) {
			t.Errorf("rename of %s: %v", name, err)
		}
		if _, _, err := f.Link(ctx, super, h, root, name); !errors.Is(err, nfs3.ErrAcces) {
			t.Errorf("link over %s: %v", name, err)
		}
		if _, _, err := f.Create(ctx, super, root, name, &nfs3.CreateHow{}); !errors.Is(err, nfs3.ErrAcces) {
			t.Errorf("create over %s: %v", name, err)
		}
	}
	names := 0
	walkAll(t, f, root, true, 100, func(e *nfs3.Entry) {
		names++
		inside := e.Name != "mounted" && e.Name != "bound"
		if e.Attr.Present != inside || e.File.Present != inside {
			t.Errorf("%s: %+v", e.Name, e)
		}
	})
	if names != 6 {
		t.Errorf("%d entries", names)
	}
	// Each mount is logged once.
	for _, name := range []string{"mounted", "bound"} {
		if n := strings.Count(log.String(), "path="+filepath.Join(dir, name)+"\n"); n != 1 {
			t.Errorf("%s was logged %d times:\n%s", name, n, &log)
		}
	}
}

func mountOn(tb testing.TB, dir, source, kind string, flags uintptr, options string) {
	tb.Helper()
	err := unix.Mount(source, dir, kind, flags, options)
	if err == unix.EPERM {
		tb.Skip("needs the right to mount")
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			tb.Error(err)
		}
	})
}
