package main

import (
	"testing"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
)

func TestMkdir(t *testing.T) {
	runCommandTests(t, []commandTest{
		{name: "plain", args: "mkdir @/export/a @/export/b/", tree: []string{`drwxr-xr-x "a"`, `drwxr-xr-x "b"`}},
		{name: "exists", files: []string{"a/", "f=1"}, args: "mkdir @/export/a @/export/f @/export/a @/export/f @/export @/export/c", code: 1,
			stderr: "mkdir @/export/a: file exists\nmkdir @/export/f: file exists\nmkdir @/export/a: file exists\n" +
				"mkdir @/export/f: file exists\nmkdir @/export: file exists\n",
			tree: []string{`drwxr-xr-x "a"`, `drwxr-xr-x "c"`, `-rw-r--r-- "f" "1"`}},
		{name: "nothing above", args: "mkdir @/export/a/b", code: 1, stderr: "mkdir @/export/a/b: no such file or directory\n"},
		{name: "below a file", files: []string{"f=1"}, args: "mkdir @/export/f/b", code: 1, stderr: "mkdir @/export/f/b: not a directory\n"},
		{name: "parents", files: []string{"x/"}, args: "mkdir -p @/export/a/b/c @/export/a/b @/export/x/y/ @/export @/export/x/y",
			tree: []string{`drwxr-xr-x "a"`, `drwxr-xr-x "a/b"`, `drwxr-xr-x "a/b/c"`, `drwxr-xr-x "x"`, `drwxr-xr-x "x/y"`}},
		{name: "parents, in the way", files: []string{"f=1", "l -> none"}, args: "mkdir -p @/export/f @/export/f/a @/export/l", code: 1,
			stderr: "mkdir @/export/f: file exists\nmkdir @/export/f/a: not a directory\nmkdir @/export/l: file exists\n"},
		{name: "parents, by links", files: []string{"a/", "l -> a"}, args: "mkdir -p @/export/l @/export/l/b/c",
			tree: []string{`drwxr-xr-x "a"`, `drwxr-xr-x "a/b"`, `drwxr-xr-x "a/b/c"`, `L "l" -> "a"`}},
		{name: "a slash in a name", files: []string{"a/"}, args: "mkdir @/export/a%2Fb", code: 2,
			stderr: "rpcrdma: @/export/a%2Fb: a name cannot contain a slash: leave out %2F\nRun 'rpcrdma mkdir --help' for usage.\n"},
		{name: "mode", args: "mkdir -m 2705 @/export/a", tree: []string{`dgrwx---r-x "a"`}},
		{name: "mode of the last", args: "mkdir -p -m 700 @/export/a/b", tree: []string{`drwxr-xr-x "a"`, `drwx------ "a/b"`}},
		{name: "mode in letters", args: "mkdir -m o-rx,+t @/export/a", tree: []string{`dtrwxrwx-w- "a"`}},
		{name: "wrong mode", args: "mkdir -m 8 @/export/a", code: 2,
			stderr: "rpcrdma: --mode 8: write a mode such as 644, u+x or go=rX\nRun 'rpcrdma mkdir --help' for usage.\n"},
		{name: "names", args: "mkdir @/export/-p @/export/%FF @/export/a%20b%0A @/export/ä%3F",
			tree: []string{`drwxr-xr-x "-p"`, `drwxr-xr-x "a b\n"`, `drwxr-xr-x "ä?"`, `drwxr-xr-x "\xff"`}},
	})
}

// TestMkdirReadOnly: with -p, an existing directory is fine even on a read-only file system.
func TestMkdirReadOnly(t *testing.T) {
	r := startRig(t, "--read-only")
	r.build(t, "a/b/", "l -> a", "f=1")
	for _, scheme := range schemes {
		if got := r.exec(t, scheme, "mkdir", "-p", "@/export/a", "@/export/a/b", "@/export/a/b/", "@/export/l", "@/export/l/b", "@/export"); got != (outcome{}) {
			t.Errorf("over %s: %+v", scheme, got)
		}
		got := r.exec(t, scheme, "mkdir", "-p", "@/export/a/c", "@/export/c/d", "@/export/f")
		const refused = ": the server exports this read-only\n"
		want := outcome{1, "", "rpcrdma mkdir @/export/a/c" + refused + "rpcrdma mkdir @/export/c/d" + refused + "rpcrdma mkdir @/export/f" + refused}
		if got != want {
			t.Errorf("over %s: got %+v, want %+v", scheme, got, want)
		}
		if got := r.exec(t, scheme, "mkdir", "@/export/a"); got.code != cli.ExitFailed {
			t.Errorf("over %s, without -p: %+v", scheme, got)
		}
	}
}
