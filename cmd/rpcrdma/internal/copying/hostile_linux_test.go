package copying

import (
	"bytes"
	"context"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/rig"
)

// hostile is a place with a link and a directory of the same name. It lists the directory when the
// link has been made.
type hostile struct {
	*localDir
	target string
	made   chan struct{}
}

func (h *hostile) list(_ context.Context, name string) iter.Seq2[details, error] {
	return func(yield func(details, error) bool) {
		file := details{name: "evil", mode: 0o644, size: 4, uid: -1, mtime: time.Unix(1, 0)}
		if name == "tree" {
			link, dir := file, file
			link.name, link.mode = "x", fs.ModeSymlink|0o777
			dir.name, dir.mode = "x", fs.ModeDir|0o755
			_ = yield(link, nil) && yield(dir, nil)
			return
		}
		<-h.made
		yield(file, nil)
	}
}

func (h *hostile) readlink(context.Context, string) (string, error) { return h.target, nil }

func (h *hostile) open(ctx context.Context, _ string, _ *details) (content, error) {
	return h.localDir.open(ctx, "evil", nil)
}

// linked is a place that reports when a link has been made in it.
type linked struct {
	*localDir
	made chan struct{}
}

func (l *linked) symlink(ctx context.Context, target, name string) error {
	err := l.localDir.symlink(ctx, target, name)
	close(l.made)
	return err
}

// TestGetHostile: a server that plants a link and then a directory of the same name writes nothing
// elsewhere.
func TestGetHostile(t *testing.T) {
	for name, target := range map[string]func(outside string) string{
		"absolute": func(outside string) string { return outside },
		"relative": func(outside string) string { return "../../" + filepath.Base(outside) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			outside := filepath.Join(dir, "outside")
			here := filepath.Join(dir, "here")
			for _, d := range []string{outside, here} {
				if err := os.Mkdir(d, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			rig.Write(t, filepath.Join(dir, "evil"), []byte("evil"))
			source, err := openLocal(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer source.close()
			to, err := openLocal(here)
			if err != nil {
				t.Fatal(err)
			}
			defer to.close()

			made := make(chan struct{})
			var stderr bytes.Buffer
			c := &copier{Options: Options{Recursive: true, preserve: true},
				teller: teller{opt: telling{quiet: true}, verb: "get", bar: &cli.Bar{W: &stderr}}}
			c.transfer = func(_ context.Context, to, from content, _ *Item) error {
				_, err := to.ReadFrom(from)
				return err
			}
			item := Item{details: details{name: "tree", mode: fs.ModeDir | 0o755, uid: -1}, from: &hostile{source, target(outside), made},
				to: &linked{to, made}, name: "tree", as: "tree"}
			if err := c.finish(t.Context(), c.all(t.Context(), []Item{item})); err != cli.ErrReported {
				t.Errorf("got %v, want %v", err, cli.ErrReported)
			}
			if got := rig.TreeOf(t, outside); got != "" {
				t.Errorf("outside there is %s", got)
			}
			if got, want := stderr.String(), "rpcrdma get "+here+"/tree/x: is not a directory: a directory cannot replace it\n"; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}
