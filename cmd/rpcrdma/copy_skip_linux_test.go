package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/rig"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// at sets the times of a file, in seconds before now.
func at(t *testing.T, name string, ago time.Duration) {
	t.Helper()
	when := time.Now().Add(-ago)
	if err := os.Chtimes(name, when, when); err != nil {
		t.Fatal(err)
	}
}

// TestCopyUpdate: without -p, -u copies newer files, files of another size, and links that lead
// elsewhere.
func TestCopyUpdate(t *testing.T) {
	eachWay(t, func(t *testing.T, w *copyWay) {
		tree(t, w.source, "d/same:644:same", "d/newer:644:old", "d/larger:644:x", "replaced:644:x", "link->d", "moved->d", "over:644:x")
		for _, name := range []string{"d/same", "d/newer", "d/larger", "replaced", "over"} {
			at(t, filepath.Join(w.source, name), time.Hour)
		}
		const all = "d/larger d/newer d/same link moved over replaced"
		if got := w.copied(t, "-u"); got != all {
			t.Errorf("first: copied %s", got)
		}
		w.same(t)
		if got := w.copied(t, "-u"); got != "" {
			t.Errorf("unchanged: copied %s", got)
		}
		if got := w.copied(t); got != all {
			t.Errorf("without -u: copied %s", got)
		}
		tree(t, w.source, "d/newer:644:new", "d/larger:644:larger", "d/more:644:more")
		at(t, filepath.Join(w.source, "d/newer"), -time.Hour)
		at(t, filepath.Join(w.source, "d/larger"), 2*time.Hour)
		for _, name := range []string{"moved", "replaced"} {
			if err := os.Remove(filepath.Join(w.source, name)); err != nil {
				t.Fatal(err)
			}
		}
		tree(t, w.source, "moved->x", "replaced->x")
		tree(t, w.target, "over:644:y")
		if got, want := w.copied(t, "-u"), "d/larger d/more d/newer moved replaced"; got != want {
			t.Errorf("changed: copied %s, want %s", got, want)
		}
		rig.Holds(t, filepath.Join(w.target, "over"), []byte("y")) // it is newer than its source
	})
}

// TestCopyUpdateKeeps: with -p, -u copies files with another time. If only the mode differs, it
// sets the mode, of directories, too. It leaves the rest alone.
func TestCopyUpdateKeeps(t *testing.T) {
	eachWay(t, func(t *testing.T, w *copyWay) {
		tree(t, w.source, "d/same:640:same", "d/restored:644:new", "d/mode:644:mode", "e/f:644:f", "g/h:644:h", "link->d")
		if got, want := w.copied(t, "-au"), "d/mode d/restored d/same e/f g/h link"; got != want {
			t.Errorf("first: copied %s, want %s", got, want)
		}
		touched := func() (names []string) {
			for _, name := range []string{"d", "d/same", "d/mode", "e", "e/f", "g", "g/h", "link", "."} {
				i, err := os.Lstat(filepath.Join(w.target, name))
				if err != nil {
					t.Fatal(err)
				}
				names = append(names, fmt.Sprint(name, " ", i.Sys().(*syscall.Stat_t).Ctim))
			}
			return names
		}
		before := touched()
		if got := w.copied(t, "-au"); got != "" {
			t.Errorf("unchanged: copied %s", got)
		}
		if after := touched(); !slices.Equal(after, before) {
			t.Errorf("unchanged: touched\n%s\n%s", before, after)
		}
		tree(t, w.source, "d/restored:644:old")
		at(t, filepath.Join(w.source, "d/restored"), 1000*time.Hour)
		for name, mode := range map[string]os.FileMode{"d/mode": 0o600, "e": 0o700} {
			if err := os.Chmod(filepath.Join(w.source, name), mode); err != nil {
				t.Fatal(err)
			}
		}
		at(t, filepath.Join(w.source, "g"), 1000*time.Hour)
		names := []string{"d", "d/same", "d/restored", "d/mode", "e", "e/f", "g", "g/h", "."}
		for _, name := range names {
			i, err := os.Stat(filepath.Join(w.source, name))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(filepath.Join(w.source, name), time.Unix(1e9, 0), i.ModTime()); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := w.copied(t, "-au"), "d/restored"; got != want {
			t.Errorf("changed: copied %s, want %s", got, want)
		}
		w.same(t)
		for _, name := range names {
			if got, want := modified(t, w.target, name), modified(t, w.source, name); !got.Equal(want) {
				t.Errorf("%s has time %v, want %v", name, got, want)
			}
		}
	})
}

// modified returns when a file was last changed.
func modified(t *testing.T, dir, name string) time.Time {
	t.Helper()
	i, err := os.Stat(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return i.ModTime()
}

// TestCopyChecksum: -c copies files with other content, whatever their sizes and times.
func TestCopyChecksum(t *testing.T) {
	large := rig.Pattern(5<<20 + 1)
	eachWay(t, func(t *testing.T, w *copyWay) {
		tree(t, w.source, "same:644:same", "content:644:content", "empty:644:", "link->x")
		rig.Write(t, filepath.Join(w.source, "large"), large)
		rig.Write(t, filepath.Join(w.source, "last"), large)
		done(t, w.copy(t, "-p"))
		for _, name := range []string{"content", "last"} {
			was := modified(t, w.source, name)
			data, err := os.ReadFile(filepath.Join(w.source, name))
			if err != nil {
				t.Fatal(err)
			}
			data[len(data)-1]++
			rig.Write(t, filepath.Join(w.source, name), data)
			if err := os.Chtimes(filepath.Join(w.source, name), was, was); err != nil {
				t.Fatal(err)
			}
		}
		at(t, filepath.Join(w.source, "same"), -time.Hour)
		if got := w.copied(t, "-pu"); got != "same" {
			t.Errorf("by size and time: copied %s", got)
		}
		at(t, filepath.Join(w.source, "same"), time.Hour)
		if got := w.copied(t, "-cp"); got != "content last" {
			t.Errorf("by content: copied %s", got)
		}
		w.same(t)
		if got, want := modified(t, w.target, "same"), modified(t, w.source, "same"); !got.Equal(want) {
			t.Errorf("same has time %v, want %v", got, want)
		}
	})
}

// TestCopyIgnoreExisting: existing files stay, whatever they are.
func TestCopyIgnoreExisting(t *testing.T) {
	eachWay(t, func(t *testing.T, w *copyWay) {
		tree(t, w.source, "d/there:644:new", "d/more:644:more", "link->new", "linked:644:new", "more->d")
		tree(t, w.target, "d/there:600:old", "link->old", "linked->nowhere")
		if got, want := w.copied(t, "-p", "--ignore-existing"), "d/more more"; got != want {
			t.Errorf("copied %s, want %s", got, want)
		}
		want := `drwxr-xr-x "d"
-rw-r--r-- "d/more" "more"
-rw------- "d/there" "old"
L "link" -> "old"
L "linked" -> "nowhere"
L "more" -> "d"
`
		if got := rig.TreeOf(t, w.target); got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
		got := w.exec(t, "tcp", w.command, "--ignore-existing", w.from+"/d/there", w.to+"/d")
		done(t, got)
		rig.Holds(t, filepath.Join(w.target, "d/there"), []byte("old"))
	})
}

// TestCopyDryRun: --dry-run prints what would be copied, and copies nothing.
func TestCopyDryRun(t *testing.T) {
	eachWay(t, func(t *testing.T, w *copyWay) {
		tree(t, w.source, "a/b/c:644:c", "d:644:new", "same:644:same", "link->d")
		tree(t, w.target, "d:600:o", "same:644:same")
		before := rig.TreeOf(t, w.target)
		got := w.copy(t, "-pu", "--dry-run")
		lines := strings.Split(strings.TrimSuffix(got.stdout, "\n"), "\n")
		slices.Sort(lines)
		var want []string
		for _, name := range []string{"a", "a/b", "a/b/c", "d", "link", "same"} {
			want = append(want, w.from+"/"+name+" -> "+w.to+"/"+name)
		}
		if got.code != 0 || got.stderr != "" || !slices.Equal(lines, want) {
			t.Errorf("got %+v, want lines\n%s", got, strings.Join(want, "\n"))
		}
		if after := rig.TreeOf(t, w.target); after != before {
			t.Errorf("got\n%swant\n%s", after, before)
		}
		if got := w.copy(t, "-u", "--dry-run"); strings.Contains(got.stdout, "same") {
			t.Errorf("got %+v", got)
		}
		got = w.exec(t, "tcp", w.command, "--dry-run", w.from+"/d", w.to+"/none/d")
		if got.code != 1 || got.stdout != "" || !strings.Contains(got.stderr, "none") {
			t.Errorf("into no directory: got %+v", got)
		}
		tree(t, w.target, "a:644:in the way")
		if got := w.copy(t, "--dry-run"); got.code != 1 || !strings.Contains(got.stderr, "a: is not a directory: a directory cannot replace it\n") {
			t.Errorf("got %+v", got)
		}
	})
}

// TestPutUpdateCalls: for unchanged files, put -u lists their directory, and makes no other calls.
func TestPutUpdateCalls(t *testing.T) {
	var lookups, sets atomic.Int64
	r, _ := startStepped(t, func(_ context.Context, p nfs3.Proc, _ int64) {
		switch p {
		case nfs3.ProcLookup:
			lookups.Add(1)
		case nfs3.ProcSetAttr:
			sets.Add(1)
		}
	})
	source := t.TempDir()
	for i := range 300 {
		tree(t, source, fmt.Sprintf("%d/%d:644:%d", i%3, i, i))
	}
	done(t, r.exec(t, "tcp", "put", "-au", source, "@/memory/up"))
	lookups.Store(0)
	sets.Store(0)
	done(t, r.exec(t, "tcp", "put", "-auT", source, "@/memory/up"))
	if lookups.Load() > 10 || sets.Load() > 0 {
		t.Errorf("%d LOOKUPs and %d SETATTRs for 300 files in 3 directories", lookups.Load(), sets.Load())
	}
}

// TestPutUpdateAsUser: if the owner of a file cannot be kept, put -u does not copy it again, and
// copies the rest.
func TestPutUpdateAsUser(t *testing.T) {
	r := startOpenRig(t)
	source := t.TempDir()
	tree(t, source, "s/a:644:a", "s/b:644:b", "s/set:755:set", "s/link->a")
	if err := os.Chmod(filepath.Join(source, "s/set"), 0o755|os.ModeSetuid); err != nil {
		t.Fatal(err)
	}
	put := []string{"put", "-auTq", "--uid", "1000", "--gid", "1000", source + "/s", "@/export/t"}
	done(t, r.exec(t, "tcp", put...))
	before := inodes(t, r.path("t"))
	if err := os.Chmod(filepath.Join(source, "s/b"), 0o600); err != nil {
		t.Fatal(err)
	}
	done(t, r.exec(t, "tcp", put...))
	if after := inodes(t, r.path("t")); !maps.Equal(before, after) {
		t.Errorf("copied again: %v, before %v", after, before)
	}
	const want = `-rw-r--r-- "a" "a"
-rw------- "b" "b"
L "link" -> "a"
-rwxr-xr-x "set" "set"
`
	if got := rig.TreeOf(t, r.path("t")); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
