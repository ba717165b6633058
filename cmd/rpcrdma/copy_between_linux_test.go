package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/rig"
)

// TestCp copies from one server to another, over each pair of transports.
func TestCp(t *testing.T) {
	one, two := startRig(t), startRig(t)
	tree(t, one.path("source"), "small:640:small", "empty:644:", "a/b/deep:600:deep", "link->small",
		"a/dangling->nowhere")
	large := rig.Pattern(9<<20 + 3)
	rig.Write(t, one.path("source/large"), large)
	old := time.Unix(1e9, 123456789)
	if err := os.Chtimes(one.path("source/large"), old, old); err != nil {
		t.Fatal(err)
	}
	want := rig.TreeOf(t, one.path("source"))
	for _, from := range schemes {
		for _, to := range schemes {
			for _, option := range []string{"-rp", "-rp --sparse"} {
				t.Run(fmt.Sprint(from, " to ", to, " ", option), func(t *testing.T) {
					name := fmt.Sprint(from, to, len(option))
					args := append([]string{"cp", "-q"}, strings.Fields(option)...)
					done(t, one.exec(t, from, append(args, "@/export/source", two.url(to, "/export/"+name))...))
					if got := rig.TreeOf(t, two.path(name)); got != want {
						t.Errorf("got\n%swant\n%s", got, want)
					}
					rig.Holds(t, two.path(name+"/large"), large)
					if i, err := os.Stat(two.path(name + "/large")); err != nil || !i.ModTime().Equal(old) {
						t.Errorf("large has time %v, want %v", i.ModTime(), old)
					}
				})
			}
		}
	}
	done(t, one.exec(t, "tcp", "cp", "@/export/source/small", "@/export/source/empty", two.url("rdma", "/memory")))
	done(t, two.exec(t, "rdma", "get", "@/memory/small", "@/memory/empty", two.dir))
	rig.Holds(t, two.path("small"), []byte("small"))
	rig.Holds(t, two.path("empty"), nil)
}

// TestCpNames: the target is a file to replace, a directory to copy into, or an error.
func TestCpNames(t *testing.T) {
	r := startRig(t)
	tree(t, r.dir, "a:644:a", "b:600:b", "dir/c:644:c", "l->a", "gone->nowhere")
	for _, tt := range []struct {
		args, stderr string
		code         int
	}{
		{"cp @/export/a @/export/b", "", 0},
		{"cp @/export/l @/export/dir", "", 0},
		{"cp -r @/export/l @/export/dir/link", "", 0},
		{"cp -r @/export/dir @/export/dir2", "", 0},
		{"cp -r @/export/dir @/export/dir2", "rpcrdma cp @/export/dir2: exists: the copy goes into it, as @/export/dir2/dir; " +
			"use -T to copy over it\n", 0}, // as cp does
		{"cp @/export/a @/export/a", "rpcrdma cp @/export/a: cannot be copied to itself\n", 1},
		{"cp -r @/export/dir @/export/dir/new", "rpcrdma cp @/export/dir: cannot be copied to itself\n", 1},
		{"cp @/export/dir @/export/x", "rpcrdma cp @/export/dir: is a directory: -r copies it\n", 1},
		{"cp @/export/a @/export/x/", "rpcrdma cp @/export/x: no such directory\n", 1},
		{"cp @/export/a @/export/gone", "rpcrdma cp @/export/gone: is a link that leads nowhere: it is not written through\n", 1},
		{"cp @/export/a @/export/b @/export/x", "rpcrdma cp @/export/x: no such directory\n", 1},
		{"cp @/export/none @/export/a @/export/dir", "rpcrdma cp @/export/none: no such file or directory\n", 1},
		{"cp @/export/a", "rpcrdma: name the URL of what to copy, and the URL to copy to\nRun 'rpcrdma cp --help' for usage.\n", cli.ExitUsage},
		{"cp @/export/a here", "rpcrdma: here is not a URL: cp copies between servers; use get to copy to this host, " +
			"and put to copy from it\nRun 'rpcrdma cp --help' for usage.\n", cli.ExitUsage},
		{"get @/export/a @/export/b", "rpcrdma: name what to copy to: . is this directory; use cp to copy " +
			"between servers\nRun 'rpcrdma get --help' for usage.\n", cli.ExitUsage},
	} {
		if got := r.exec(t, "rdma", strings.Fields(tt.args)...); got != (outcome{tt.code, "", tt.stderr}) {
			t.Errorf("%s: got %+v, want exit %d and %q", tt.args, got, tt.code, tt.stderr)
		}
	}
	want := `-rw-r--r-- "a" "a"
-rw------- "b" "a"
drwxr-xr-x "dir"
-rw-r--r-- "dir/a" "a"
-rw-r--r-- "dir/c" "c"
-rw-r--r-- "dir/l" "a"
L "dir/link" -> "a"
drwxr-xr-x "dir2"
-rw-r--r-- "dir2/c" "c"
drwxr-xr-x "dir2/dir"
-rw-r--r-- "dir2/dir/c" "c"
-rw-r--r-- "dir2/dir/l" "a"
L "dir2/dir/link" -> "a"
-rw-r--r-- "dir2/l" "a"
L "dir2/link" -> "a"
L "gone" -> "nowhere"
L "l" -> "a"
`
	if got := r.tree(t); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if left, _ := filepath.Glob(r.path(".rpcrdma-*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
