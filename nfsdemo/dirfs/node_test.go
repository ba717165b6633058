//go:build linux

package dirfs

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// keyOfHandle returns the key of the file of a handle.
func keyOfHandle(tb testing.TB, f *FS, h nfs3.FH) key {
	tb.Helper()
	n, err := f.tree.node(&h)
	must(tb, err)
	return n.id.key()
}

// TestOwnChanges: changes to names by clients are known at once, so no scan is needed.
func TestOwnChanges(t *testing.T) {
	f := openState(t)
	defer f.Close()
	ctx, s := t.Context(), byNameOf(f)
	d := mkdir(t, f, f.Root(), "dir")
	h := create(t, f, "file")
	k, dk := keyOfHandle(t, f, h), keyOfHandle(t, f, d)
	want := func(what string, names ...hint) {
		t.Helper()
		if got := s.names.of(k); !slices.Equal(got, names) {
			t.Errorf("%s: %v, want %v", what, got, names)
		}
	}
	want("created", hint{s.root, "file"})
	must(t, second(f.Link(ctx, super, h, d, "link")))
	want("linked", hint{dk, "link"}, hint{s.root, "file"})
	must(t, second(f.Rename(ctx, super, f.Root(), "file", d, "file2")))
	want("renamed", hint{dk, "file2"}, hint{dk, "link"})
	must(t, first(f.Remove(ctx, super, d, "link")))
	want("removed", hint{dk, "file2"})
	ok := keyOfHandle(t, f, create(t, f, "other"))
	must(t, second(f.Rename(ctx, super, d, "file2", f.Root(), "other")))
	want("renamed over another", hint{s.root, "other"})
	if s.names.has(ok) || !s.absent.has(ok) {
		t.Error("a file that was replaced is still known")
	}
	for i := range 2 * maxHints {
		must(t, second(f.Link(ctx, super, h, d, fmt.Sprint("link", i))))
	}
	got := s.names.of(k)
	if len(got) != maxHints || got[0].name != fmt.Sprint("link", 2*maxHints-1) {
		t.Errorf("after many links: %v", got)
	}
	// With all remembered names gone, a scan finds the file.
	f.tree.descs.paths.purge()
	for i := range 2 * maxHints {
		must(t, os.Remove(filepath.Join(f.tree.host.path, "dir", fmt.Sprint("link", i))))
	}
	if _, err := f.GetAttr(ctx, h); err != nil {
		t.Error(err)
	}
	want("found", hint{s.root, "other"})
}

// TestNumbersUsedAgain: the handle of a removed file stays stale, even if its inode number is
// reused at once.
func TestNumbersUsedAgain(t *testing.T) { bothWays(t, testNumbersUsedAgain) }

func testNumbersUsedAgain(t *testing.T, byName bool) {
	f := newIn(t, Config{Path: tempDir(t), ByName: byName})
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

// TestGeneration: two files with the same inode number differ in generation. This does not depend
// on which numbers the host assigns.
func TestGeneration(t *testing.T) {
	f := newIn(t, Config{Path: tempDir(t), ByName: true})
	h := create(t, f, "file")
	earlier := keyOfHandle(t, f, h)
	earlier.gen--
	id := earlier.id()
	byNameOf(f).seen(&id, f.tree.root, "file")
	if _, err := f.GetAttr(t.Context(), f.tree.sealer.handle(&id)); err != nfs3.ErrStale {
		t.Error(err)
	}
	if _, err := f.GetAttr(t.Context(), h); err != nil {
		t.Error(err)
	}
}

// TestAbsentIsBounded: the memory of files that are gone is bounded, and they are not forgotten at
// once.
func TestAbsentIsBounded(t *testing.T) {
	var a absent
	for i := range uint64(3 * maxAbsent) {
		a.add(key{i, 1})
		if !a.has(key{i, 1}) || i >= maxAbsent/2 && !a.has(key{i - maxAbsent/2, 1}) {
			t.Fatalf("%d is not remembered", i)
		}
		if n := len(a.young) + len(a.old); n > maxAbsent {
			t.Fatalf("%d are remembered", n)
		}
	}
	last := key{3*maxAbsent - 1, 1}
	if a.drop(last); a.has(last) {
		t.Error("one that was seen is absent")
	}
}

// TestNodesAreDropped: files that nobody refers to use no memory.
func TestNodesAreDropped(t *testing.T) {
	bothWays(t, func(t *testing.T, byName bool) {
		f := newIn(t, Config{Path: tempDir(t), ByName: byName})
		for i := range 100 {
			create(t, f, fmt.Sprint("file", i))
		}
		f.tree.descs.paths.purge()
		must(t, f.tree.descs.data.purge())
		left := -1
		for range 1000 {
			runtime.GC()
			f.tree.nodes.mu.RLock()
			left = len(f.tree.nodes.byID)
			f.tree.nodes.mu.RUnlock()
			if left == 1 {
				return
			}
		}
		t.Errorf("%d nodes", left)
	})
}

// TestTooDeep: the search for a file ends, however deep the file lies.
func TestTooDeep(t *testing.T) {
	f := newIn(t, Config{Path: tempDir(t), ByName: true})
	for _, tt := range []struct {
		depth int
		want  error
	}{{maxDepth, nfs3.ErrStale}, {maxDepth + 1, nfs3.ErrServerFault}} {
		s := byNameOf(f)
		parent := s.root
		for i := range tt.depth {
			// These do not exist, which is found out at the top.
			k := key{1<<40 + uint64(i), uint64(tt.depth)}
			s.enter(k, hint{parent, "dir"})
			parent = k
		}
		id := parent.id()
		if _, err := f.GetAttr(t.Context(), f.tree.sealer.handle(&id)); err != tt.want {
			t.Errorf("depth %d: %v, want %v", tt.depth, err, tt.want)
		}
	}
}
