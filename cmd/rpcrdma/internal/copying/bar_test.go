package copying

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/remote"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/rig"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
)

// barOn returns a bar on a terminal.
func barOn(out *bytes.Buffer) *cli.Bar { return &cli.Bar{W: out, Terminal: true} }

// TestBarOfCopy: notices about a server go through the bar.
func TestBarOfCopy(t *testing.T) {
	var out bytes.Buffer
	cmd := &cobra.Command{}
	cmd.SetErr(&out)
	var r remote.Session
	c := (&Options{}).newCopier(cmd, &r, "get", false)
	if got := r.Stderr(); got != c.bar {
		t.Errorf("it goes to %T, want the bar", got)
	}
	c.tell(words.About("file", words.ErrDirectory))
	if got, want := out.String(), "rpcrdma get file: is a directory: -r copies it\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestCopyTold: the bar knows the total from the beginning for files on the command line, and for a
// tree while the first files are copied.
func TestCopyTold(t *testing.T) {
	const files = copiers + 5
	for _, named := range []bool{true, false} {
		t.Run(fmt.Sprint(named), func(t *testing.T) {
			source := t.TempDir()
			if err := os.Mkdir(filepath.Join(source, "tree"), 0o755); err != nil {
				t.Fatal(err)
			}
			from, err := openLocal(source)
			if err != nil {
				t.Fatal(err)
			}
			defer from.close()
			to, err := openLocal(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			defer to.close()
			var items []Item
			for i := range files {
				name := fmt.Sprint("tree/", i)
				rig.Write(t, filepath.Join(source, name), []byte("12345"))
				d, err := from.lstat(t.Context(), name)
				if err != nil {
					t.Fatal(err)
				}
				items = append(items, Item{details: d, from: from, to: to, name: name, as: fmt.Sprint(i)})
			}
			if !named {
				items = []Item{{details: details{mode: fs.ModeDir | 0o755, uid: -1}, from: from, to: to, name: "tree", as: "tree"}}
			}

			c := &copier{Options: Options{Recursive: true},
				teller: teller{verb: "get", bar: barOn(new(bytes.Buffer))}}
			state := func() cli.BarState {
				c.bar.Mu.Lock()
				defer c.bar.Mu.Unlock()
				return c.bar.State
			}
			var early cli.BarState
			// of as many copies as there can be: no further file is looked at
			var first sync.WaitGroup
			first.Add(copiers)
			var once sync.Once
			enter := make(chan struct{}, copiers)
			c.transfer = func(context.Context, content, content, *Item) error {
				select {
				case enter <- struct{}{}:
					first.Done()
					first.Wait()
					once.Do(func() {
						// what is in a tree is found meanwhile
						for early = state(); !early.Complete; early = state() {
							time.Sleep(time.Millisecond)
						}
					})
				default:
				}
				c.bar.Add(5)
				return nil
			}
			if err := c.finish(t.Context(), c.all(t.Context(), items)); err != nil {
				t.Fatal(err)
			}
			if early.Found != files || early.Size != 5*files {
				t.Errorf("in the middle: %+v", early)
			}
			if got := state(); !got.Complete || got.Found != files || got.Copied != files || got.Size != 5*files || got.Done != 5*files {
				t.Errorf("in the end: %+v", got)
			}
		})
	}
}
