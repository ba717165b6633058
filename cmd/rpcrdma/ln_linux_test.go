package main

import (
	"os"
	"testing"
)

func TestLn(t *testing.T) {
	runCommandTests(t, []commandTest{
		{name: "symbolic", args: "ln -s ../else/where @/export/l", tree: []string{`L "l" -> "../else/where"`}},
		{name: "symbolic, any bytes", args: "ln -s \xff%20? @/export/l%FF", tree: []string{`L "l\xff" -> "\xff%20?"`}},
		{name: "symbolic, in a directory", files: []string{"d/"}, args: "ln -s ../a /b/c/ @/export/d", tree: []string{`drwxr-xr-x "d"`, `L "d/a" -> "../a"`, `L "d/c" -> "/b/c/"`}},
		{name: "symbolic, exists", files: []string{"l -> x"}, args: "ln -s a @/export/l", code: 1, stderr: "ln @/export/l: file exists\n"},
		{name: "symbolic, replaced", files: []string{"l -> x"}, args: "ln -sf a @/export/l", tree: []string{`L "l" -> "a"`}},
		{name: "symbolic, in a linked directory", files: []string{"d/", "l -> d"}, args: "ln -sf a @/export/l", tree: []string{`drwxr-xr-x "d"`, `L "d/a" -> "a"`, `L "l" -> "d"`}},
		{name: "symbolic, for a linked directory", files: []string{"d/", "l -> d"}, args: "ln -sfT a @/export/l", tree: []string{`drwxr-xr-x "d"`, `L "l" -> "a"`}},
		{name: "symbolic, for a directory", files: []string{"d/a/"}, args: "ln -sf a @/export/d", code: 1, stderr: "ln @/export/d/a: is a directory\n"},
		{name: "symbolic, beside a link out", files: []string{"l -> /etc/passwd"}, args: "ln -s a @/export/l", code: 1, stderr: "ln @/export/l: file exists\n"},
		{name: "symbolic, for a link out", files: []string{"l -> /etc/passwd", "m -> ../../x"}, args: "ln -sf m @/export/l",
			tree: []string{`L "l" -> "m"`, `L "m" -> "../../x"`}},
		{name: "symbolic, for a link out and up", files: []string{"l -> ../../x"}, args: "ln -sf a @/export/l", tree: []string{`L "l" -> "a"`}},
		{name: "symbolic, for a link to a directory out", files: []string{"l -> /etc"}, args: "ln -sfT a @/export/l", tree: []string{`L "l" -> "a"`}},
		{name: "symbolic, for a loop", files: []string{"l -> l"}, args: "ln -sf a @/export/l", tree: []string{`L "l" -> "a"`}},
		{name: "symbolic, for a dangling link", files: []string{"l -> none"}, args: "ln -sf a @/export/l", tree: []string{`L "l" -> "a"`}},
		{name: "symbolic, for a link below a file", files: []string{"f=1", "l -> f/x"}, args: "ln -sf a @/export/l", tree: []string{`-rw-r--r-- "f" "1"`, `L "l" -> "a"`}},
		{name: "symbolic, in a link out", files: []string{"l -> /etc"}, args: "ln -s a @/export/l/", code: 1, stderr: "ln @/export/l/: link leads out of the export\n"},
		{name: "symbolic, below a link out", files: []string{"l -> /etc"}, args: "ln -s a @/export/l/b", code: 1, stderr: "ln @/export/l/b: link leads out of the export\n"},
		{name: "hard, for a link out", files: []string{"a=1", "l -> /etc/passwd"}, args: "ln -f @/export/a @/export/l", tree: []string{`-rw-r--r-- "a" "1"`, `-rw-r--r-- "l" "1"`}},
		{name: "symbolic, of the root", args: "ln -s / @/export", code: 1, stderr: "ln @/export: is a directory: add the new name to the URL\n"},
		{name: "symbolic, a slash", args: "ln -s a @/export/l/", code: 1, stderr: "ln @/export/l/: not a directory\n"},
		{name: "symbolic, to a URL", args: "ln -s @/export/a @/export/l", code: 2,
			stderr: "rpcrdma: @/export/a: a symbolic link leads to a path on its own server: write /PATH, or a path relative to the link\nRun 'rpcrdma ln --help' for usage.\n"},
		{name: "hard", files: []string{"a=1"}, args: "ln @/export/a @/export/b", tree: []string{`-rw-r--r-- "a" "1"`, `-rw-r--r-- "b" "1"`}},
		{name: "hard, in a directory", files: []string{"a=1", "b=2", "d/"}, args: "ln @/export/a @/export/b @/export/d/",
			tree: []string{`-rw-r--r-- "a" "1"`, `-rw-r--r-- "b" "2"`, `drwxr-xr-x "d"`, `-rw-r--r-- "d/a" "1"`, `-rw-r--r-- "d/b" "2"`}},
		{name: "hard, exists", files: []string{"a=1", "b=2"}, args: "ln @/export/a @/export/b", code: 1, stderr: "ln @/export/a: @/export/b: file exists\n"},
		{name: "hard, replaced", files: []string{"a=1", "b=2"}, args: "ln -f @/export/a @/export/b", tree: []string{`-rw-r--r-- "a" "1"`, `-rw-r--r-- "b" "1"`}},
		{name: "hard, the same", files: []string{"a=1"}, args: "ln -f @/export/a @/export/a", code: 1, stderr: "ln @/export/a: that is the same file\n"},
		{name: "hard, to a link", files: []string{"l -> none"}, args: "ln @/export/l @/export/m", tree: []string{`L "l" -> "none"`, `L "m" -> "none"`}},
		{name: "hard, to a directory", files: []string{"d/"}, args: "ln @/export/d @/export/e", code: 1, stderr: "ln @/export/d: is a directory, which can have only one name: use ln -s\n"},
		{name: "hard, missing", args: "ln @/export/a @/export/b", code: 1, stderr: "ln @/export/a: no such file or directory\n"},
		{name: "hard, another export", files: []string{"a=1"}, args: "ln @/export/a @/memory/b", code: 1,
			stderr: "ln @/export/a: not in the same export of the same server as @/memory/b: use cp\n"},
		{name: "hard, to no URL", args: "ln a @/export/b", code: 2,
			stderr: "rpcrdma: a: not a URL: write rdma://HOST/EXPORT/PATH, or tcp://\nRun 'rpcrdma ln --help' for usage.\n"},
	})
}

// TestLnSame: a hard link is the same file.
func TestLnSame(t *testing.T) {
	r := startRig(t)
	r.build(t, "a=1", "b=2")
	for _, scheme := range schemes {
		if got := r.exec(t, scheme, "ln", "-f", "@/export/a", "@/export/"+scheme); got != (outcome{}) {
			t.Fatalf("%+v", got)
		}
		a, err1 := os.Stat(r.path("a"))
		b, err2 := os.Stat(r.path(scheme))
		if err1 != nil || err2 != nil || !os.SameFile(a, b) {
			t.Errorf("over %s: two files: %v, %v", scheme, err1, err2)
		}
	}
}
