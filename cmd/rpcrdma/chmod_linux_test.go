package main

import (
	"testing"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
)

func TestChmod(t *testing.T) {
	runCommandTests(t, []commandTest{
		{name: "octal", files: []string{"a=1", "b=2"}, args: "chmod 4750 @/export/a @/export/b", tree: []string{`urwxr-x--- "a" "1"`, `urwxr-x--- "b" "2"`}},
		{name: "letters", files: []string{"a=1", "0666 a", "d/"}, args: "chmod u+x,go=rX @/export/a @/export/d", tree: []string{`-rwxr-xr-x "a" "1"`, `drwxr-xr-x "d"`}},
		{name: "umask", files: []string{"a=1", "0400 a"}, args: "chmod +rwx @/export/a", tree: []string{`-rwxr-xr-x "a" "1"`}},
		{name: "minus", files: []string{"a=1", "0666 a"}, args: "chmod -w @/export/a", tree: []string{`-r--rw-rw- "a" "1"`}},
		{name: "minus several, behind a flag", files: []string{"d/a=1", "0777 d/a", "01777 d"}, args: "chmod -R -wt @/export/d",
			tree: []string{`dr-xrwxrwx "d"`, `-r-xrwxrwx "d/a" "1"`}},
		{name: "minus behind --", files: []string{"a=1", "0666 a"}, args: "chmod -- -w,o+x @/export/a", tree: []string{`-r--rw-rwx "a" "1"`}},
		{name: "set-ID of directories", files: []string{"d/", "02755 d"}, args: "chmod 700 @/export/d", tree: []string{`dgrwx------ "d"`}},
		{name: "five digits", files: []string{"d/", "02755 d"}, args: "chmod 00700 @/export/d", tree: []string{`drwx------ "d"`}},
		{name: "sticky", files: []string{"d/"}, args: "chmod 1777 @/export/d", tree: []string{`dtrwxrwxrwx "d"`}},
		{name: "by a link", files: []string{"a=1", "l -> a"}, args: "chmod 600 @/export/l", tree: []string{`-rw------- "a" "1"`, `L "l" -> "a"`}},
		{name: "one file of a tree", files: []string{"d/a=1"}, args: "chmod 700 @/export/d", tree: []string{`drwx------ "d"`, `-rw-r--r-- "d/a" "1"`}},
		{name: "tree", files: []string{"d/a=1", "d/e/b=1", "x=1", "d/l -> ../x", "d/loop -> ."}, args: "chmod -R u=rwX,go= @/export/d",
			tree: []string{`drwx------ "d"`, `-rw------- "d/a" "1"`, `drwx------ "d/e"`, `-rw------- "d/e/b" "1"`, `L "d/l" -> "../x"`, `L "d/loop" -> "."`, `-rw-r--r-- "x" "1"`}},
		{name: "tree by a link", files: []string{"d/a=1", "l -> d"}, args: "chmod -R go= @/export/l", tree: []string{`drwx------ "d"`, `-rw------- "d/a" "1"`, `L "l" -> "d"`}},
		{name: "file with -R", files: []string{"a=1"}, args: "chmod -R 600 @/export/a", tree: []string{`-rw------- "a" "1"`}},
		{name: "some fail", files: []string{"a=1", "l -> none"}, args: "chmod 600 @/export/none @/export/l @/export/a", code: 1,
			stderr: "chmod @/export/none: no such file or directory\nchmod @/export/l: no such file or directory\n", tree: []string{`-rw------- "a" "1"`, `L "l" -> "none"`}},
		{name: "wrong mode", files: []string{"a=1"}, args: "chmod 888 @/export/a", code: 2,
			stderr: "rpcrdma: 888: write a mode such as 644, u+x or go=rX\nRun 'rpcrdma chmod --help' for usage.\n"},
		{name: "no mode", args: "chmod", code: 2, stderr: "rpcrdma: no mode: write one such as 644, u+x or go=rX\nRun 'rpcrdma chmod --help' for usage.\n"},
		{name: "no URL", args: "chmod 644", code: 2, stderr: "rpcrdma: no URL: write rdma://HOST/EXPORT/PATH, or tcp://\nRun 'rpcrdma chmod --help' for usage.\n"},
	})
}

// TestRights: what a user other than root may do, and the message if it may not.
func TestRights(t *testing.T) {
	runScript(t, []step{
		{args: "mkdir --uid=7 -m 777 @/memory/d"},
		{args: "mkdir --uid=7 -m 755 @/memory/d/his"},
		{args: "touch --uid=7 @/memory/d/his/file"},
		{args: "mkdir --uid=8 -p @/memory/d/mine/below"},
		{args: "touch --uid=8 @/memory/d/mine/below/file"},

		{args: "rm --uid=8 -rf @/memory/d", code: 1, stderr: "rm @/memory/d/his/file: permission denied to user 8\n"},
		{args: "ls -R @/memory/d", stdout: "@/memory/d:\nhis\n\n@/memory/d/his:\nfile\n"},
		{args: "chmod --uid=8 -R 700 @/memory/d", code: 1, stderr: "chmod @/memory/d/his/file: operation not permitted to user 8\n" +
			"chmod @/memory/d/his: operation not permitted to user 8\nchmod @/memory/d: operation not permitted to user 8\n"},
		{args: "chown --uid=7 8 @/memory/d/his/file", code: 1, stderr: "chown @/memory/d/his/file: operation not permitted to user 7\n"},
		{args: "touch --uid=8 @/memory/d/his/new @/memory/d/his/file", code: 1,
			stderr: "touch @/memory/d/his/new: permission denied to user 8\ntouch @/memory/d/his/file: permission denied to user 8\n"},
		{args: "chmod 600 @/memory/d/his/file"},
		{args: "cat --uid=8 @/memory/d/his/file", code: 1, stderr: "cat @/memory/d/his/file: permission denied to user 8\n"},

		// chmod -R adds and removes rights such that it can walk the whole tree.
		{args: "chmod --uid=7 -R a-rwx @/memory/d"},
		{args: "ls --uid=7 -l @/memory/d", code: 1, stderr: "ls @/memory/d: permission denied to user 7\n", stdout: "total 0\n"},
		{args: "chmod --uid=7 -R u+rwX @/memory/d"},
		{args: "ls --uid=7 -R @/memory/d", stdout: "@/memory/d:\nhis\n\n@/memory/d/his:\nfile\n"},
		{args: "rm --uid=7 -r @/memory/d"},
	})
}

// TestSquashed: root is told that the server may squash it.
func TestSquashed(t *testing.T) {
	r := startRig(t, "--squash", "root")
	if got := r.exec(t, "tcp", "mkdir", "-m", "700", "--uid=7", "@/memory/d"); got != (outcome{}) {
		t.Fatalf("%+v", got)
	}
	got := r.exec(t, "tcp", "ls", "--uid=0", "@/memory/d")
	want := outcome{cli.ExitFailed, "", "rpcrdma ls @/memory/d: permission denied to user 0, whom many servers take for nobody: use --uid to call as another user\n"}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
