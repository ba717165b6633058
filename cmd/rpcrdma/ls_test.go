package main

import (
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
)

func TestLs(t *testing.T) {
	const owner = "--uid=7 --gid=8 "
	runScript(t, []step{
		{args: "ls @/memory"},
		{args: "ls @/memory/none", code: 1, stderr: "ls @/memory/none: no such file or directory\n"},
		{args: "mkdir -m 755 " + owner + "@/memory/dir"},
		{args: "mkdir -m 7750 " + owner + "@/memory/dir/sub @/memory/dir/.hidden"},
		{args: "touch " + owner + "@/memory/b @/memory/.h @/memory/B @/memory/ä @/memory/a%0Ab @/memory/%FF @/memory/dir/sub/deep"},
		{args: "chmod 644 @/memory/b @/memory/B @/memory/dir/sub/deep"},
		{args: "ln -s " + owner + "dir @/memory/l"},
		{args: "ln -s " + owner + "none @/memory/dir/dangling"},
		{args: "ls @/memory", stdout: "B\na\nb\nb\ndir\nl\nä\n\xff\n"},
		{args: "ls -a @/memory", stdout: ".h\nB\na\nb\nb\ndir\nl\nä\n\xff\n"},
		{args: "ls -A1 @/memory/dir", stdout: ".hidden\ndangling\nsub\n"},
		{args: "ls -r @/memory", stdout: "\xff\nä\nl\ndir\nb\na\nb\nB\n"},
		{args: "ls @/memory/l", stdout: "dangling\nsub\n"},
		{args: "ls @/memory/l/", stdout: "dangling\nsub\n"},
		{args: "ls @/memory/dir/dangling", stdout: "@/memory/dir/dangling\n"},
		{args: "ls @/memory/dir/dangling/", code: 1, stderr: "ls @/memory/dir/dangling/: no such file or directory\n"},
		{args: "ls @/memory/b/", code: 1, stderr: "ls @/memory/b/: not a directory\n"},
		{args: "ls -d @/memory/dir @/memory/l", stdout: "@/memory/dir\n@/memory/l\n"},
		{args: "ls @/memory/dir @/memory/none @/memory/b @/memory/dir/.hidden @/memory/B", code: 1,
			stderr: "ls @/memory/none: no such file or directory\n",
			stdout: "@/memory/B\n@/memory/b\n\n@/memory/dir:\ndangling\nsub\n\n@/memory/dir/.hidden:\n"},
		{args: "ls -R @/memory/dir", stdout: "@/memory/dir:\ndangling\nsub\n\n@/memory/dir/sub:\ndeep\n"},
		{args: "ls -aR @/memory/dir/", stdout: "@/memory/dir/:\n.hidden\ndangling\nsub\n\n@/memory/dir/.hidden:\n\n@/memory/dir/sub:\ndeep\n"},

		{args: "touch -d 2006-01-02T15:04:05Z @/memory/b @/memory/B @/memory/dir/sub"},
		{args: "ls -n @/memory/b @/memory/B", stdout: "-rw-r--r-- 1 7 8 0 TIME @/memory/B\n-rw-r--r-- 1 7 8 0 TIME @/memory/b\n"},
		{args: "ln @/memory/b @/memory/B @/memory/dir/sub"},
		{args: "chown 1000:100 @/memory/b"},
		{args: "chmod 4711 @/memory/b"},
		{args: "chmod 2644 @/memory/B"},
		{args: "touch -d 2006-01-02T15:04:05Z @/memory/b @/memory/B @/memory/dir/sub @/memory/dir/sub/deep"},
		{args: "ls -n @/memory/dir/sub", stdout: "total 0\n" +
			"-rw-r-Sr-- 2    7   8 0 TIME B\n" +
			"-rws--x--x 2 1000 100 0 TIME b\n" +
			"-rw-r--r-- 1    7   8 0 TIME deep\n"},
		{args: "ls -nd @/memory/dir/sub", stdout: "drwsr-s--T 2 7 8 4096 TIME @/memory/dir/sub\n"},
		{args: "ls -tUS @/memory", code: 2, stderr: "rpcrdma: use only one of -t, -S and -U\nRun 'rpcrdma ls --help' for usage.\n"},

		{args: "touch -d @3 @/memory/dir/1"},
		{args: "touch -d @1 @/memory/dir/2"},
		{args: "touch -d @2 @/memory/dir/3"},
		{args: "rm -r @/memory/dir/sub @/memory/dir/dangling"},
		{args: "ls -t @/memory/dir", stdout: "1\n3\n2\n"},
		{args: "ls -tr @/memory/dir", stdout: "2\n3\n1\n"},
	})
}

// TestLsExports: above the exports, ls lists the exports.
func TestLsExports(t *testing.T) {
	s := startServe(t, "--memory", "/b", "--memory", "/srv/data", "--memory", "/srv/a b")
	r := &clientRig{serveCommand: s}
	for _, scheme := range schemes {
		for _, tt := range []struct {
			args string
			want outcome
		}{
			{"ls @/", outcome{0, "/b\n/srv/a b\n/srv/data\n", ""}},
			{"ls -l @/", outcome{0, "/b\n/srv/a b\n/srv/data\n", ""}},
			{"ls @/srv", outcome{0, "/srv/a b\n/srv/data\n", ""}},
			{"ls @/srv/data", outcome{0, "", ""}},
			{"ls @/ @/b", outcome{0, "@/:\n/b\n/srv/a b\n/srv/data\n\n@/b:\n", ""}},
		} {
			if got := r.exec(t, scheme, strings.Fields(tt.args)...); got != tt.want {
				t.Errorf("%s over %s: got %+v, want %+v", tt.args, scheme, got, tt.want)
			}
		}
		if got := r.exec(t, scheme, "ls", "@/sr"); got.code != cli.ExitFailed || got.stdout != "" || !strings.HasPrefix(got.stderr, "rpcrdma ls @/sr: ") || !strings.Contains(got.stderr, "/srv/data") {
			t.Errorf("over %s: got %+v, want a failure that names the exports", scheme, got)
		}
	}
}
