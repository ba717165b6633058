package copying

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/rig"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
)

// TestChanged changes a file while it is copied, in the first attempt or in both. The copy is the
// file at one point in time, or there is none.
func TestChanged(t *testing.T) {
	old, late := strings.Repeat("old", 1000), strings.Repeat("new", 1000)
	for name, tt := range map[string]struct {
		change func(t *testing.T, file string, n int)
		want   string // of the copy; empty: there is none
		most   int    // attempts that change it
		err    error  // of these attempts
	}{
		"cut off": {func(t *testing.T, file string, _ int) {
			if err := os.Truncate(file, 10); err != nil {
				t.Error(err)
			}
		}, old[:10], 1, nil},
		"written with the same size": {func(t *testing.T, file string, _ int) {
			rig.Write(t, file, []byte(late))
			later(t, file, 1)
		}, late, 1, nil},
		"written again and again": {later, "", 2, nil},
		"replaced at the server that this host mounts": {func(t *testing.T, file string, _ int) {
			rig.Write(t, file, []byte(late))
		}, late, 1, syscall.ESTALE},
		"replaced": {func(t *testing.T, file string, _ int) {
			if err := os.Rename(rig.Write(t, file+"~", []byte(late)), file); err != nil {
				t.Error(err)
			}
			later(t, file, 1)
		}, late, 1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := rig.Write(t, filepath.Join(dir, "file"), []byte(old))
			from, to := openDir(t, dir), openDir(t, t.TempDir())
			copied := rig.Write(t, filepath.Join(to.dir, "copy"), []byte("before"))
			var stderr bytes.Buffer
			c := &copier{Options: Options{preserve: true},
				teller: teller{opt: telling{quiet: true}, verb: "get", bar: barOn(&stderr)}}
			attempts := 0
			c.transfer = func(_ context.Context, to, from content, _ *Item) error {
				half := make([]byte, len(old)/2)
				n, err := from.Read(half)
				if err != nil {
					return err
				}
				if _, err := to.Write(half[:n]); err != nil {
					return err
				}
				c.moved(n)
				if attempts++; attempts <= tt.most {
					tt.change(t, file, attempts)
					if tt.err != nil {
						return words.About(file, tt.err)
					}
				}
				rest, err := to.ReadFrom(from)
				c.moved(int(rest))
				return err
			}
			d, err := from.lstat(t.Context(), "file")
			if err != nil {
				t.Fatal(err)
			}
			items := []Item{{details: d, from: from, to: to, name: "file", as: "copy"}}
			err = c.finish(t.Context(), c.all(t.Context(), items))
			if attempts != 2 {
				t.Errorf("%d attempts, want 2", attempts)
			}
			if tt.want == "" {
				want := "rpcrdma get " + file + ": changed each time that it was read: not copied\n"
				if err != cli.ErrReported || stderr.String() != want {
					t.Errorf("got %v and %q, want %q", err, &stderr, want)
				}
				rig.Holds(t, copied, []byte("before"))
			} else {
				if err != nil || stderr.Len() > 0 {
					t.Errorf("got %v and %q", err, &stderr)
				}
				rig.Holds(t, copied, []byte(tt.want))
				is, err := os.Stat(copied)
				was, err2 := os.Stat(file)
				if err != nil || err2 != nil || !is.ModTime().Equal(was.ModTime()) {
					t.Errorf("the copy has time %v, the file %v", is.ModTime(), was.ModTime())
				}
			}
			if bar := c.bar.State; tt.err != nil && bar.Done != bar.Size {
				t.Errorf("the bar ends at %d of %d bytes", bar.Done, bar.Size)
			}
			if entries, _ := os.ReadDir(to.dir); len(entries) != 1 {
				t.Errorf("there are %v", entries)
			}
		})
	}
}

// later gives a file another time, n seconds from a certain one.
func later(t *testing.T, file string, n int) {
	at := time.Unix(2e9+int64(n), 0)
	if err := os.Chtimes(file, at, at); err != nil {
		t.Error(err)
	}
}

func openDir(t *testing.T, dir string) *localDir {
	t.Helper()
	l, err := openLocal(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.close() })
	return l
}
