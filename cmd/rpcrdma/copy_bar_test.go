package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// TestCopyTold: the bar knows the whole from the beginning if files are named, and of a tree when all of it was found.
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
			var items []copyItem
			for i := range files {
				name := fmt.Sprint("tree/", i)
				write(t, filepath.Join(source, name), []byte("12345"))
				items = append(items, copyItem{details: details{mode: 0o644, size: 5, uid: -1}, from: from, to: to, name: name, as: fmt.Sprint(i)})
			}
			if !named {
				items = []copyItem{{details: details{mode: fs.ModeDir | 0o755, uid: -1}, from: from, to: to, name: "tree", as: "tree"}}
			}

			c := &copier{copyOptions: copyOptions{recursive: true}, verb: "get", bar: barOn(new(bytes.Buffer))}
			state := func() barState {
				c.bar.mu.Lock()
				defer c.bar.mu.Unlock()
				return c.bar.state
			}
			var early barState
			var first sync.WaitGroup // of as many copies as there can be: no further file is looked at
			first.Add(copiers)
			var once sync.Once
			enter := make(chan struct{}, copiers)
			c.transfer = func(context.Context, content, content, *copyItem) error {
				select {
				case enter <- struct{}{}:
					first.Done()
					first.Wait()
					once.Do(func() { early = state() })
				default:
				}
				c.bar.add(5)
				return nil
			}
			if err := c.finish(t.Context(), c.all(t.Context(), items)); err != nil {
				t.Fatal(err)
			}
			if early.complete != named || named && (early.found != files || early.size != 5*files) {
				t.Errorf("in the middle: %+v", early)
			}
			if got := state(); !got.complete || got.found != files || got.copied != files || got.size != 5*files || got.done != 5*files {
				t.Errorf("in the end: %+v", got)
			}
		})
	}
}
