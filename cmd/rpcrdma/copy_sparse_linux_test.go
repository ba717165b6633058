package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/rig"
)

// used returns the bytes of storage that a file of this host takes.
func used(t *testing.T, name string) int64 {
	t.Helper()
	i, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return i.Sys().(*syscall.Stat_t).Blocks * 512
}

// TestCopySparse: holes and zeros take no storage at the target.
func TestCopySparse(t *testing.T) {
	r := startRig(t)
	const size = 6<<20 + 5
	for name, make := range map[string]func(f *os.File) error{
		"holes": func(f *os.File) error {
			if err := f.Truncate(size); err != nil {
				return err
			}
			if _, err := f.WriteAt(rig.Pattern(5000), 0); err != nil {
				return err
			}
			_, err := f.WriteAt(rig.Pattern(100_000), 3<<20+100)
			return err
		},
		"zeros": func(f *os.File) error {
			p := make([]byte, size)
			copy(p, rig.Pattern(5000))
			copy(p[3<<20+100:], rig.Pattern(100_000))
			_, err := f.Write(p)
			return err
		},
		"nothing": func(f *os.File) error { return f.Truncate(size) },
		"data at the end": func(f *os.File) error {
			_, err := f.WriteAt(rig.Pattern(200_000), size-200_000)
			return err
		},
	} {
		up := filepath.Join(t.TempDir(), name)
		f, err := os.Create(up)
		if err != nil {
			t.Fatal(err)
		}
		if err := make(f); err != nil {
			t.Fatal(err)
		}
		f.Close()
		want, err := os.ReadFile(up)
		if err != nil {
			t.Fatal(err)
		}
		for _, scheme := range schemes {
			t.Run(scheme+name, func(t *testing.T) {
				down := filepath.Join(t.TempDir(), "down")
				done(t, r.exec(t, scheme, "put", "--sparse", up, "@/export/up"))
				done(t, r.exec(t, scheme, "get", "--sparse", "@/export/up", down))
				for _, copied := range []string{r.path("up"), down} {
					rig.Holds(t, copied, want)
					if got := used(t, copied); got > 1<<20 {
						t.Errorf("%s takes %d bytes", copied, got)
					}
				}
				done(t, r.exec(t, scheme, "put", up, "@/export/up"))
				done(t, r.exec(t, scheme, "get", "@/export/up", down))
				for _, copied := range []string{r.path("up"), down} {
					rig.Holds(t, copied, want)
					if got := used(t, copied); got < int64(len(want)) {
						t.Errorf("without --sparse %s takes %d bytes", copied, got)
					}
				}
			})
		}
	}
}
