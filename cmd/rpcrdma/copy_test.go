package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/rig"
)

// done fails the test unless a command has succeeded without output.
func done(t *testing.T, got outcome) {
	t.Helper()
	if (got != outcome{}) {
		t.Fatalf("got %+v, want success without a word", got)
	}
}

// TestCopySizes: files of many sizes come back unchanged.
func TestCopySizes(t *testing.T) {
	r := startRig(t)
	all := rig.Pattern(10<<20 + 3)
	for scheme, options := range map[string][]string{"rdma": {"-q", "-p", "--sparse"}, "tcp": {"-q"}} {
		for _, option := range options {
			for _, n := range []int{0, 1, 3, 4095, 4096, 4097, 1<<20 - 1, 1<<20 + 1, 10<<20 + 3} {
				t.Run(fmt.Sprint(scheme, option, n), func(t *testing.T) {
					dir := t.TempDir()
					up := rig.Write(t, filepath.Join(dir, "up"), all[:n])
					done(t, r.exec(t, scheme, "put", option, up, "@/memory/file"))
					down := filepath.Join(dir, "down")
					done(t, r.exec(t, scheme, "get", option, "@/memory/file", down))
					rig.Holds(t, down, all[:n])
				})
			}
		}
	}
}

// TestGetOperands: where files go, for each way to name source and target.
func TestGetOperands(t *testing.T) {
	r := startRig(t)
	source := t.TempDir()
	for _, name := range []string{"a", "b"} {
		rig.Write(t, filepath.Join(source, name), []byte(name))
	}
	if err := os.Mkdir(filepath.Join(source, "dir"), 0o755); err != nil {
		t.Fatal(err)
	}
	rig.Write(t, filepath.Join(source, "dir", "c"), []byte("c"))
	done(t, r.exec(t, "tcp", "put", "-r", source+"/a", source+"/b", source+"/dir", "@/memory"))

	const (
		a     = `-rw-r--r-- "a" "a"` + "\n"
		b     = `-rw-r--r-- "b" "b"` + "\n"
		dir   = `drwxr-xr-x "dir"` + "\n" + `-rw-r--r-- "dir/c" "c"` + "\n"
		there = `drwxr-xr-x "there"` + "\n"
		old   = `-rw-r--r-- "old" "old"` + "\n"
	)
	for _, tt := range []struct {
		name   string
		args   string
		want   string // in the directory
		code   int
		stderr string
	}{
		{"no LOCAL", "@/memory/a", a + old + there, 0, ""},
		{"several", "@/memory/a @/memory/b .", a + b + old + there, 0, ""},
		{"several, no LOCAL", "@/memory/a @/memory/b", old + there, 2,
			"rpcrdma: name what to copy to: . is this directory; use cp to copy between servers\nRun 'rpcrdma get --help' for usage.\n"},
		{"a new name", "@/memory/a new", `-rw-r--r-- "new" "a"` + "\n" + old + there, 0, ""},
		{"a directory", "@/memory/a there", old + there + `-rw-r--r-- "there/a" "a"` + "\n", 0, ""},
		{"a directory with a slash", "@/memory/a there/", old + there + `-rw-r--r-- "there/a" "a"` + "\n", 0, ""},
		{"a file to replace", "@/memory/a old", `-rw-r--r-- "old" "a"` + "\n" + there, 0, ""},
		{"a tree", "-r @/memory/dir", dir + old + there, 0, ""},
		{"a tree by a new name", "-r @/memory/dir new", strings.ReplaceAll(dir, `"dir`, `"new`) + old + there, 0, ""},
		{"a tree into a directory", "-r @/memory/dir there", old + there + strings.ReplaceAll(dir, `"dir`, `"there/dir`), 0, ""},
		{"an export", "-r @/memory there", old + there + `drwxr-xr-x "there/memory"` + "\n" +
			strings.NewReplacer(`"a" "`, `"there/memory/a" "`, `"b" "`, `"there/memory/b" "`, `"dir`, `"there/memory/dir`).Replace(a+b+dir), 0, ""},
		{"a directory without -r", "@/memory/dir", old + there, 1, "rpcrdma get @/memory/dir: is a directory: -r copies it\n"},
		{"no such file", "@/memory/none", old + there, 1, "rpcrdma get @/memory/none: no such file or directory\n"},
		{"one of two", "@/memory/none @/memory/a .", a + old + there, 1, "rpcrdma get @/memory/none: no such file or directory\n"},
		{"one twice", "@/memory/a @/memory/a .", a + old + there, 1, "rpcrdma get a: already has the copy of another file, and is not replaced\n"},
		{"several to a file", "@/memory/a @/memory/b old", old + there, 1, "rpcrdma get old: is not a directory\n"},
		{"several to nothing", "@/memory/a @/memory/b new", old + there, 1, "rpcrdma get new: no such directory\n"},
		{"a file with a slash", "@/memory/a/", old + there, 1, "rpcrdma get @/memory/a: is not a directory\n"},
		{"to a file with a slash", "@/memory/a new/", old + there, 1, "rpcrdma get new/: no such directory\n"},
		{"no directory", "@/memory/a none/new", old + there, 1, "rpcrdma get none: no such file or directory\n"},
		{"a tree over a file", "-r @/memory/dir old", old + there, 1, "rpcrdma get old: is not a directory: a directory cannot replace it\n"},
		{"an empty name", "@/memory/a ", old + there, 2, "rpcrdma: the name to copy to is empty\nRun 'rpcrdma get --help' for usage.\n"},
		{"no URL", "old", old + there, 2, "rpcrdma: no URL: write rdma://HOST/EXPORT/PATH, or tcp://\nRun 'rpcrdma get --help' for usage.\n"},
		{"mixed up with put", "old @/memory/a", old + there, 2, "rpcrdma: old is not a URL: get copies from a server; use put to copy to a server, and cp to copy between servers\nRun 'rpcrdma get --help' for usage.\n"},
		{"several to -", "@/memory/a @/memory/b -", old + there, 2,
			"rpcrdma: only one file can be copied to standard output, without -r\nRun 'rpcrdma get --help' for usage.\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			here := t.TempDir()
			t.Chdir(here)
			rig.Write(t, "old", []byte("old"))
			if err := os.Mkdir("there", 0o755); err != nil {
				t.Fatal(err)
			}
			got := r.exec(t, "tcp", append([]string{"get"}, strings.Split(tt.args, " ")...)...)
			if want := (outcome{tt.code, "", tt.stderr}); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
			if got := rig.TreeOf(t, here); got != tt.want {
				t.Errorf("got\n%swant\n%s", got, tt.want)
			}
		})
	}
}

// TestPutOperands: where files go, for each way to name source and target.
func TestPutOperands(t *testing.T) {
	r := startRig(t)
	t.Chdir(t.TempDir())
	for _, name := range []string{"a", "b"} {
		rig.Write(t, name, []byte(name))
	}
	if err := os.Mkdir("dir", 0o755); err != nil {
		t.Fatal(err)
	}
	rig.Write(t, "dir/c", []byte("c"))
	const (
		a     = `-rw-r--r-- "a" "a"` + "\n"
		b     = `-rw-r--r-- "b" "b"` + "\n"
		dir   = `drwxr-xr-x "dir"` + "\n" + `-rw-r--r-- "dir/c" "c"` + "\n"
		there = `drwxr-xr-x "there"` + "\n"
		old   = `-rw-r--r-- "old" "old"` + "\n"
	)
	for i, tt := range []struct {
		name   string
		args   string
		want   string // in the directory
		code   int
		stderr string
	}{
		{"into a directory", "a @/memory/N", a + old + there, 0, ""},
		{"several", "a b @/memory/N/", a + b + old + there, 0, ""},
		{"a new name", "a @/memory/N/new", `-rw-r--r-- "new" "a"` + "\n" + old + there, 0, ""},
		{"a file to replace", "a @/memory/N/old", `-rw-r--r-- "old" "a"` + "\n" + there, 0, ""},
		{"a tree", "-r dir @/memory/N", dir + old + there, 0, ""},
		{"a tree with a slash", "-r dir/ @/memory/N", dir + old + there, 0, ""},
		{"a tree by a new name", "-r dir @/memory/N/new", strings.ReplaceAll(dir, `"dir`, `"new`) + old + there, 0, ""},
		{"what is here", "-r . @/memory/N", a + b + dir + old + there, 0, ""},
		{"what is above", "-r dir/.. @/memory/N", a + b + dir + old + there, 0, ""},
		{"a directory without -r", "dir @/memory/N", old + there, 1, "rpcrdma put dir: is a directory: -r copies it\n"},
		{"no such file", "none @/memory/N", old + there, 1, "rpcrdma put none: no such file or directory\n"},
		{"one of two", "none a @/memory/N", a + old + there, 1, "rpcrdma put none: no such file or directory\n"},
		{"one twice", "a ./a @/memory/N", a + old + there, 1, "rpcrdma put @/memory/N/a: already has the copy of another file, and is not replaced\n"},
		{"several to a file", "a b @/memory/N/old", old + there, 1, "rpcrdma put @/memory/N/old: is not a directory\n"},
		{"several to nothing", "a b @/memory/N/new", old + there, 1, "rpcrdma put @/memory/N/new: no such directory\n"},
		{"to a file with a slash", "a @/memory/N/new/", old + there, 1, "rpcrdma put @/memory/N/new: no such directory\n"},
		{"no directory", "a @/memory/N/none/new", old + there, 1, "rpcrdma put @/memory/N/none/new: no such file or directory\n"},
		{"a tree over a file", "-r dir @/memory/N/old", old + there, 1, "rpcrdma put @/memory/N/old: is not a directory: a directory cannot replace it\n"},
		{"a file over a tree", "a @/memory/N/there/in", old + there + `-rw-r--r-- "there/in" "a"` + "\n", 0, ""},
		{"no URL", "a b", old + there, 2, "rpcrdma: b: not a URL: write rdma://HOST/EXPORT/PATH, or tcp://\nRun 'rpcrdma put --help' for usage.\n"},
		{"mixed up with get", "@/memory/x a", old + there, 2,
			"rpcrdma: @/memory/x: put copies from this host; use get to copy from a server, and cp to copy between servers\nRun 'rpcrdma put --help' for usage.\n"},
		{"one URL", "@/memory/N", old + there, 2, "rpcrdma: name what to copy, and the URL to copy to\nRun 'rpcrdma put --help' for usage.\n"},
		{"two URLs", "@/memory/x @/memory/N", old + there, 2,
			"rpcrdma: @/memory/x: put copies from this host; use get to copy from a server, and cp to copy between servers\nRun 'rpcrdma put --help' for usage.\n"},
		{"standard input and more", "- a @/memory/N", old + there, 2,
			"rpcrdma: standard input is copied alone, without -r; write ./- for a file that is named -\nRun 'rpcrdma put --help' for usage.\n"},
		{"standard input without a name", "- @/memory/N", old + there, 1, "rpcrdma put @/memory/N: is a directory: a file cannot replace it\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			here := t.TempDir()
			rig.Write(t, filepath.Join(here, "old"), []byte("old"))
			if err := os.Mkdir(filepath.Join(here, "there"), 0o755); err != nil {
				t.Fatal(err)
			}
			dir := fmt.Sprint("dir", i)
			done(t, r.exec(t, "tcp", "put", "-r", here, "@/memory/"+dir))
			got := r.exec(t, "tcp", append([]string{"put"}, strings.Split(strings.ReplaceAll(tt.args, "/N", "/"+dir), " ")...)...)
			if want := (outcome{tt.code, "", strings.ReplaceAll(tt.stderr, "/N", "/"+dir)}); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
			down := filepath.Join(t.TempDir(), "down")
			done(t, r.exec(t, "tcp", "get", "-r", "@/memory/"+dir, down))
			if got := rig.TreeOf(t, down); got != tt.want {
				t.Errorf("got\n%swant\n%s", got, tt.want)
			}
		})
	}
}
