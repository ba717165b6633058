//go:build linux

package dirfs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// TestOwnChanges: what clients do to names is known at once, so that nothing has to be looked for.
func TestOwnChanges(t *testing.T) {
	f := openState(t)
	defer f.Close()
	ctx := t.Context()
	d := mkdir(t, f, f.Root(), "dir")
	h := create(t, f, "file")
	n, err := f.tree.table.find(&h)
	must(t, err)
	dn, err := f.tree.table.find(&d)
	must(t, err)
	want := func(what string, names ...hint) {
		t.Helper()
		if got := f.tree.table.names(n); !slices.Equal(got, names) {
			t.Errorf("%s: %v, want %v", what, got, names)
		}
	}
	want("created", hint{f.tree.root.key, "file"})
	must(t, second(f.Link(ctx, super, h, d, "link")))
	want("linked", hint{dn.key, "link"}, hint{f.tree.root.key, "file"})
	must(t, second(f.Rename(ctx, super, f.Root(), "file", d, "file2")))
	want("renamed", hint{dn.key, "file2"}, hint{dn.key, "link"})
	must(t, first(f.Remove(ctx, super, d, "link")))
	want("removed", hint{dn.key, "file2"})
	other := create(t, f, "other")
	on, err := f.tree.table.find(&other)
	must(t, err)
	must(t, second(f.Rename(ctx, super, d, "file2", f.Root(), "other")))
	want("renamed over another", hint{f.tree.root.key, "other"})
	if n, gone := f.tree.table.get(on.key); n != nil || !gone {
		t.Error("a file that was replaced is still known")
	}
	for i := range 2 * maxHints {
		must(t, second(f.Link(ctx, super, h, d, fmt.Sprint("link", i))))
	}
	if got := f.tree.table.names(n); len(got) != maxHints || got[0].name != fmt.Sprint("link", 2*maxHints-1) {
		t.Errorf("after many links: %v", got)
	}
	// With all names that are remembered gone, it is looked for.
	f.tree.descs.paths.purge()
	for i := range 2 * maxHints {
		must(t, os.Remove(filepath.Join(f.tree.host.path, "dir", fmt.Sprint("link", i))))
	}
	if _, err := f.GetAttr(ctx, h); err != nil {
		t.Error(err)
	}
	want("found", hint{f.tree.root.key, "other"})
}

// TestNumbersUsedAgain: the handle of a removed file is stale for ever, also when its inode's number is used again
// at once.
func TestNumbersUsedAgain(t *testing.T) {
	f := newIn(t, Config{Path: tempDir(t)})
	ctx := t.Context()
	var gone []nfs3.FH
	numbers := make(map[uint64]bool)
	for i := range 50 {
		o, _, err := f.Create(ctx, super, f.Root(), fmt.Sprint("file", i), &nfs3.CreateHow{})
		must(t, err)
		numbers[o.Attr.Attr.FileID] = true
		for _, h := range gone {
			if h == o.File {
				t.Fatal("the handle of a removed file is used again")
			}
			if _, err := f.GetAttr(ctx, h); err != nfs3.ErrStale {
				t.Fatal(err)
			}
		}
		if _, err := f.Remove(ctx, super, f.Root(), fmt.Sprint("file", i)); err != nil {
			t.Fatal(err)
		}
		gone = append(gone, o.File)
	}
	t.Logf("%d files had %d numbers", len(gone), len(numbers))
}

// TestGeneration: of two files of the same number, the later one is not the earlier one. This
// does not depend on which numbers the host gives.
func TestGeneration(t *testing.T) {
	f := newIn(t, Config{Path: tempDir(t)})
	h := create(t, f, "file")
	n, err := f.tree.table.find(&h)
	must(t, err)
	earlier := key{n.ino, n.gen - 1}
	was := f.tree.table.intern(earlier, hint{f.tree.root.key, "file"})
	if _, err := f.GetAttr(t.Context(), f.tree.table.handle(was)); err != nfs3.ErrStale {
		t.Error(err)
	}
	if _, err := f.GetAttr(t.Context(), h); err != nil {
		t.Error(err)
	}
}

// TestGoneIsBounded: what is remembered of files that are gone does not grow for ever.
func TestGoneIsBounded(t *testing.T) {
	f := newIn(t, Config{Path: tempDir(t)})
	for i := range 3 * maxGone {
		n := f.tree.table.intern(key{1 << 40, uint64(i)}, hint{f.tree.root.key, "file"})
		f.tree.forget(n)
		if _, gone := f.tree.table.get(n.key); !gone || len(f.tree.table.gone) > maxGone {
			t.Fatalf("after %d files: %v, %d are remembered", i, gone, len(f.tree.table.gone))
		}
	}
	if len(f.tree.table.nodes) != 1 {
		t.Errorf("%d nodes", len(f.tree.table.nodes))
	}
}

// TestTooDeep: however deep a file lies, looking for it ends.
func TestTooDeep(t *testing.T) {
	f := newIn(t, Config{Path: tempDir(t)})
	for _, tt := range []struct {
		depth int
		want  error
	}{{maxDepth, nfs3.ErrStale}, {maxDepth + 1, nfs3.ErrServerFault}} {
		n := f.tree.root
		for i := range tt.depth {
			// Such as are not there, which is seen at the top.
			n = f.tree.table.intern(key{1<<40 + uint64(i), 1}, hint{n.key, "dir"})
		}
		if _, err := f.GetAttr(t.Context(), f.tree.table.handle(n)); err != tt.want {
			t.Errorf("depth %d: %v, want %v", tt.depth, err, tt.want)
		}
	}
}
