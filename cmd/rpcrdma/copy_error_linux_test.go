package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/rig"
)

// TestPutNoSpace: a file that did not fit leaves nothing.
func TestPutNoSpace(t *testing.T) {
	r := startRig(t, "--memory-size", "8MiB")
	dir := t.TempDir()
	old := rig.Write(t, filepath.Join(dir, "old"), []byte("old"))
	large := rig.Write(t, filepath.Join(dir, "large"), rig.Pattern(10<<20))
	for _, scheme := range schemes {
		for _, option := range []string{"-q", "-p", "--sparse"} {
			done(t, r.exec(t, scheme, "put", old, "@/memory/file"))
			got := r.exec(t, scheme, "put", option, large, "@/memory/file")
			if want := (outcome{1, "", "rpcrdma put @/memory/file: no space left on the server: 10 MiB needed, 8.0 MiB free\n"}); got != want {
				t.Errorf("%s: got %+v, want %+v", scheme, got, want)
			}
			down := filepath.Join(t.TempDir(), "down")
			done(t, r.exec(t, scheme, "get", "-r", "@/memory", down))
			if got, want := rig.TreeOf(t, down), `-rw-r--r-- "file" "old"`+"\n"; got != want {
				t.Errorf("%s: got\n%swant\n%s", scheme, got, want)
			}
		}
	}
}

// TestCopyOneTooLarge: a file without room takes none from others, and is the only one that is
// reported.
func TestCopyOneTooLarge(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("root mounts a small file system")
	}
	full := t.TempDir()
	if err := syscall.Mount("tmpfs", full, "tmpfs", 0, "size=8m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(full, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	r := startRig(t, "--export", "/full="+full)
	source := r.path("s")
	r.mkdir(t, "s/d")
	for i := range 38 {
		rig.Write(t, filepath.Join(source, "d", fmt.Sprint(i)), rig.Pattern(100_000))
	}
	want := rig.TreeOf(t, source)
	rig.Write(t, filepath.Join(source, "d", "large"), rig.Pattern(9<<20))
	at(t, filepath.Join(source, "d"), time.Hour)
	for _, args := range [][]string{
		{"put", "-rpT", source, "@/full/t"}, {"get", "-rpT", "@/export/s", full + "/t"}, {"cp", "-rpT", "@/export/s", "@/full/t"},
	} {
		t.Run(args[0], func(t *testing.T) {
			got := r.exec(t, "tcp", args...)
			where := map[string]string{"put": "the server", "get": "device", "cp": "the server"}[args[0]]
			if got.code != 1 || got.stdout != "" || strings.Count(got.stderr, "\n") != 1 ||
				!strings.HasPrefix(got.stderr, "rpcrdma "+args[0]+" "+args[3]+"/d/large: no space left on "+where+": 9.0 MiB needed, 4.") ||
				!strings.HasSuffix(got.stderr, " MiB free\n") {
				t.Errorf("got %+v", got)
			}
			if got := rig.TreeOf(t, full+"/t"); got != want {
				t.Errorf("got\n%swant\n%s", got, want)
			}
			if got, want := modified(t, full+"/t", "d"), modified(t, source, "d"); !got.Equal(want) {
				t.Errorf("the directory has time %v, want %v", got, want)
			}
			done(t, r.exec(t, "tcp", "rm", "-r", "@/full/t")) // the server may have them open
		})
	}
	// Of several files that do not fit, the first is reported, and the number of the others.
	rig.Write(t, filepath.Join(source, "d", "larger"), rig.Pattern(10<<20))
	rig.Write(t, filepath.Join(source, "d", "largest"), rig.Pattern(11<<20))
	got := r.exec(t, "rdma", "put", "-rT", source, "@/full/t")
	lines := strings.Split(got.stderr, "\n")
	if got.code != 1 || len(lines) != 3 || !strings.Contains(lines[0], "/d/large: no space left") ||
		lines[1] != "rpcrdma put: no room for 2 larger files either: 21 MiB" {
		t.Errorf("got %+v", got)
	}
	if got := rig.TreeOf(t, full+"/t"); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestGetNoSpace: the error of a full device says so.
func TestGetNoSpace(t *testing.T) {
	r := startRig(t)
	r.file(t, "file", "content")
	got := r.exec(t, "tcp", "get", "@/export/file", "/dev/full")
	if want := (outcome{1, "", "rpcrdma get /dev/full: no space left on device\n"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	done(t, r.exec(t, "tcp", "get", "@/export/file", "/dev/null"))
	if i, err := os.Lstat("/dev/null"); err != nil || i.Mode().Type() != os.ModeDevice|os.ModeCharDevice {
		t.Fatalf("/dev/null is %v, %v", i, err)
	}
}

// TestCopyPermission: errors name the file, and other files are copied nevertheless.
func TestCopyPermission(t *testing.T) {
	needRoot(t)
	r := startRig(t)
	user := []string{"--uid", "1000", "--gid", "1000"}
	r.file(t, "tree/secret", "secret")
	r.file(t, "tree/public", "public")
	r.file(t, "tree/closed/file", "file")
	for name, mode := range map[string]os.FileMode{"tree/secret": 0o600, "tree/closed": 0o700} {
		if err := os.Chmod(r.path(name), mode); err != nil {
			t.Fatal(err)
		}
	}
	up := rig.Write(t, filepath.Join(t.TempDir(), "up"), []byte("up"))
	for _, tt := range []struct {
		args   []string
		stderr []string
	}{
		{[]string{"put", up, "@/export/tree"}, []string{"rpcrdma put @/export/tree/up: permission denied to user 1000"}},
		{[]string{"put", "-p", up, "@/export/tree/public"}, []string{"rpcrdma put @/export/tree/public: permission denied to user 1000"}},
		{[]string{"put", "-r", filepath.Dir(up), "@/export/new"}, []string{"rpcrdma put @/export/new: permission denied to user 1000"}},
		{[]string{"get", "@/export/tree/secret", t.TempDir()}, []string{"rpcrdma get @/export/tree/secret: permission denied to user 1000"}},
	} {
		got := r.exec(t, "rdma", append(tt.args, user...)...)
		if want := (outcome{1, "", strings.Join(tt.stderr, "\n") + "\n"}); got != want {
			t.Errorf("%v: got %+v, want %+v", tt.args, got, want)
		}
	}
	here := t.TempDir()
	got := r.exec(t, "rdma", append([]string{"get", "-r", "@/export/tree", here}, user...)...)
	for _, line := range []string{"rpcrdma get @/export/tree/secret: permission denied to user 1000\n", "rpcrdma get @/export/tree/closed: permission denied to user 1000\n"} {
		if strings.Count(got.stderr, line) != 1 {
			t.Errorf("got %q, want in it %q", got.stderr, line)
		}
	}
	if got.code != 1 || strings.Count(got.stderr, "\n") != 2 {
		t.Errorf("got %+v", got)
	}
	want := `drwxr-xr-x "tree"
drwx------ "tree/closed"
-rw-r--r-- "tree/public" "public"
`
	if got := rig.TreeOf(t, here); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	const left = `drwxr-xr-x "tree"
drwx------ "tree/closed"
-rw-r--r-- "tree/closed/file" "file"
-rw-r--r-- "tree/public" "public"
-rw------- "tree/secret" "secret"
`
	if got := r.tree(t); got != left {
		t.Errorf("the server has\n%swant\n%s", got, left)
	}
}

// TestCopyPermissionSquashed: root, squashed by the server, is told how to call as another user.
func TestCopyPermissionSquashed(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("a server that is run by root can tell others from root")
	}
	r := startRig(t, "--squash", "root")
	r.file(t, "file", "x")
	if err := os.Chmod(r.path("file"), 0o600); err != nil {
		t.Fatal(err)
	}
	up := rig.Write(t, filepath.Join(t.TempDir(), "up"), []byte("up"))
	const hint = "permission denied to user 0, whom many servers take for nobody: use --uid to call as another user\n"
	for what, args := range map[string][]string{"file": {"get", "@/export/file", t.TempDir()}, "up": {"put", up, "@/export"}} {
		if got, want := r.exec(t, "tcp", args...), (outcome{1, "", "rpcrdma " + args[0] + " @/export/" + what + ": " + hint}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

// TestGetIntoReadOnly: a read-only target is replaced, one in a read-only directory is not.
func TestGetIntoReadOnly(t *testing.T) {
	r := startRig(t)
	r.file(t, "file", "new")
	here := t.TempDir()
	tree(t, here, "file:444:old")
	done(t, r.exec(t, "tcp", "get", "@/export/file", here))
	if got, want := rig.TreeOf(t, here), `-r--r--r-- "file" "new"`+"\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	got := r.exec(t, "tcp", "get", "@/export/file", "/proc/self/new")
	if want := (outcome{1, "", "rpcrdma get /proc/self/new: no such file or directory\n"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestGetPlanted: a link from a server never leads out of the directory, whatever comes under its
// name later.
func TestGetPlanted(t *testing.T) {
	r := startRig(t)
	outside, here := t.TempDir(), t.TempDir()
	rig.Write(t, filepath.Join(outside, "file"), []byte("old"))
	up := strings.Repeat("../", 20) + outside[1:]
	r.mkdir(t, "tree")
	for i, to := range []string{outside, up, outside + "/file", outside + "/new"} {
		r.symlink(t, to, fmt.Sprint("tree/", i))
	}
	done(t, r.exec(t, "tcp", "get", "-r", "@/export/tree", here))
	if err := os.RemoveAll(r.path("tree")); err != nil {
		t.Fatal(err)
	}
	r.file(t, "tree/0/file", "evil")
	r.file(t, "tree/1/new", "evil")
	r.file(t, "tree/2", "evil")
	r.file(t, "tree/3", "evil")
	for _, option := range []string{"-r", "-rp"} {
		got := r.exec(t, "tcp", "get", option, "@/export/tree", here)
		want := outcome{1, "", "rpcrdma get " + here + "/tree/0: is not a directory: a directory cannot replace it\n" +
			"rpcrdma get " + here + "/tree/1: is not a directory: a directory cannot replace it\n"}
		if got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	if got, want := rig.TreeOf(t, outside), `-rw-r--r-- "file" "old"`+"\n"; got != want {
		t.Errorf("outside there is\n%swant\n%s", got, want)
	}
	want := fmt.Sprintf("drwxr-xr-x \"tree\"\nL \"tree/0\" -> %q\nL \"tree/1\" -> %q\n-rw-r--r-- \"tree/2\" \"evil\"\n-rw-r--r-- \"tree/3\" \"evil\"\n", outside, up)
	if got := rig.TreeOf(t, here); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
