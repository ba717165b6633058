package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
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

// TestCopySparse: holes and zeros take no storage at the other side.
func TestCopySparse(t *testing.T) {
	r := startRig(t)
	const size = 6<<20 + 5
	for name, make := range map[string]func(f *os.File) error{
		"holes": func(f *os.File) error {
			if err := f.Truncate(size); err != nil {
				return err
			}
			if _, err := f.WriteAt(pattern(5000), 0); err != nil {
				return err
			}
			_, err := f.WriteAt(pattern(100_000), 3<<20+100)
			return err
		},
		"zeros": func(f *os.File) error {
			p := make([]byte, size)
			copy(p, pattern(5000))
			copy(p[3<<20+100:], pattern(100_000))
			_, err := f.Write(p)
			return err
		},
		"nothing": func(f *os.File) error { return f.Truncate(size) },
		"data at the end": func(f *os.File) error {
			_, err := f.WriteAt(pattern(200_000), size-200_000)
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
					holds(t, copied, want)
					if got := used(t, copied); got > 1<<20 {
						t.Errorf("%s takes %d bytes", copied, got)
					}
				}
				done(t, r.exec(t, scheme, "put", up, "@/export/up"))
				done(t, r.exec(t, scheme, "get", "@/export/up", down))
				for _, copied := range []string{r.path("up"), down} {
					holds(t, copied, want)
					if got := used(t, copied); got < int64(len(want)) {
						t.Errorf("without --sparse %s takes %d bytes", copied, got)
					}
				}
			})
		}
	}
}

// TestEachRun: runs are what is not zeros, by blocks of the file.
func TestEachRun(t *testing.T) {
	data := make([]byte, 10*holeSize)
	for _, i := range []int{0, holeSize, 3*holeSize - 1, 5 * holeSize, 9*holeSize + 100} {
		data[i] = 1
	}
	for _, tt := range []struct {
		from, to int
		want     string
	}{
		{0, len(data), "0-12288 20480-24576 36864-40960 "},
		{100, len(data) - 50, "4096-12288 20480-24576 36864-40910 "},
		{3 * holeSize, 5 * holeSize, ""},
		{9*holeSize + 101, len(data), ""},
		{9*holeSize + 100, 9*holeSize + 101, "36964-36965 "},
		{7, 7, ""},
	} {
		var got string
		var all bytes.Buffer
		err := eachRun(data[tt.from:tt.to], int64(tt.from), func(p []byte, off int64) error {
			got += fmt.Sprintf("%d-%d ", off, off+int64(len(p)))
			all.Write(p)
			return nil
		})
		if got != tt.want || err != nil {
			t.Errorf("%d to %d: got %q, %v, want %q", tt.from, tt.to, got, err, tt.want)
		}
	}
	if err := eachRun(data, 0, func([]byte, int64) error { return io.ErrShortWrite }); err != io.ErrShortWrite {
		t.Errorf("got %v, want the error of yield", err)
	}
}

// nowhere takes what is written anywhere.
type nowhere struct{}

func (nowhere) WriteAt(p []byte, _ int64) (int, error) { return len(p), nil }

// TestPutSparseBar: holes count neither as done nor as to be done.
func TestPutSparseBar(t *testing.T) {
	const size, data = 32 << 20, 3 << 20
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(pattern(data), 8<<20); err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(size); err != nil {
		t.Fatal(err)
	}
	b := barOn(new(bytes.Buffer))
	b.grow(size)
	c := &copier{bar: b}
	if _, err := c.putSparse(t.Context(), nowhere{}, f, "file", size); err != nil {
		t.Fatal(err)
	}
	if got := b.state; got.done != got.size || got.done < data {
		t.Errorf("%d of %d bytes are done, want all of at least %d", got.done, got.size, data)
	}
}
