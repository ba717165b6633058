//go:build linux || darwin

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/rig"
)

// oddTree makes a directory with all kinds of names and links.
func oddTree(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "tree")
	names := []string{"plain", "-r", "--", "new\nline", " space ", `back\slash`, "a:b", "100%?#", "zwölf", ".hidden", "...", "*", strings.Repeat("n", 255)}
	if runtime.GOOS == "linux" { // others want UTF-8
		names = append(names, "\xff\xfe", strings.Repeat("\x80", 255))
	}
	for _, d := range []string{"", "empty", "-dir", "a/b/c/d/e/f/g"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
		if d == "empty" {
			continue
		}
		for _, name := range names {
			rig.Write(t, filepath.Join(dir, d, name), []byte("content of "+name))
		}
	}
	for name, mode := range map[string]os.FileMode{"read-only": 0o444, "script": 0o755, "private": 0o600, "nothing": 0} {
		rig.Write(t, filepath.Join(dir, name), []byte(name))
		if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"to a file": "plain", "to a directory": "a", "dangling": "nowhere", "absolute": "/etc/passwd",
		"loop": "loop", "up": "..", "a/outside": "../../../..", "long": strings.Repeat("x", 1000)} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestCopyTree: a tree goes up and down, and over itself.
func TestCopyTree(t *testing.T) {
	r := startRig(t)
	source := oddTree(t)
	if os.Getuid() != 0 { // who may not read it
		if err := os.Remove(filepath.Join(source, "nothing")); err != nil {
			t.Fatal(err)
		}
	}
	want := rig.TreeOf(t, source)
	for _, scheme := range schemes {
		t.Run(scheme, func(t *testing.T) {
			down := t.TempDir()
			for range 2 { // the second time over what is there
				done(t, r.exec(t, scheme, "put", "-r", source+"/.", "@/memory/"+scheme))
				done(t, r.exec(t, scheme, "get", "-r", "@/memory/"+scheme, down))
				if got := rig.TreeOf(t, filepath.Join(down, scheme)); got != want {
					t.Errorf("got\n%swant\n%s", got, want)
				}
			}
		})
	}
}

// TestCopyOver: existing files are replaced and keep their permissions; others stay.
func TestCopyOver(t *testing.T) {
	r := startRig(t)
	source, here := t.TempDir(), t.TempDir()
	tree(t, source, "file:600:new", "dir/file:644:new", "dir/more:644:more", "link->file", "was link:644:new", "was file->file", "dir 2/x:644:x")
	over := []string{"file:644:old", "dir/file:400:old", "dir/other:640:other", "link->elsewhere", "was link->../secret", "was file:644:old", "dir 2/x/y:644:y"}
	const want = `drwxr-xr-x "dir"
-r-------- "dir/file" "new"
-rw-r--r-- "dir/more" "more"
-rw-r----- "dir/other" "other"
drwxr-xr-x "dir 2"
drwxr-xr-x "dir 2/x"
-rw-r--r-- "dir 2/x/y" "y"
-rw-r--r-- "file" "new"
L "link" -> "file"
L "was file" -> "file"
-rw-r--r-- "was link" "new"
`
	tree(t, here, "into/keep:644:kept")
	tree(t, filepath.Join(here, "into"), over...)
	os.Remove(filepath.Join(here, "into", "keep"))
	rig.Write(t, filepath.Join(here, "secret"), []byte("secret"))

	done(t, r.exec(t, "tcp", "put", "-rp", here+"/into", "@/memory/up"))
	got := r.exec(t, "tcp", "put", "-r", source+"/.", "@/memory/up")
	if want := (outcome{1, "", "rpcrdma put @/memory/up/dir%202/x: is a directory: a file cannot replace it\n"}); got != want {
		t.Errorf("put: got %+v, want %+v", got, want)
	}
	down := filepath.Join(t.TempDir(), "down")
	done(t, r.exec(t, "tcp", "get", "-rp", "@/memory/up", down))
	if got := rig.TreeOf(t, down); got != want {
		t.Errorf("put: got\n%swant\n%s", got, want)
	}

	done(t, r.exec(t, "tcp", "put", "-r", source, "@/memory/source"))
	got = r.exec(t, "tcp", "get", "-r", "@/memory/source", here+"/into/") // into/source
	if want := (outcome{0, "", ""}); got != want {
		t.Errorf("get: got %+v, want %+v", got, want)
	}
	os.RemoveAll(filepath.Join(here, "into", "source"))
	if err := os.Rename(filepath.Join(here, "into"), filepath.Join(here, "source")); err != nil {
		t.Fatal(err)
	}
	got = r.exec(t, "tcp", "get", "-r", "@/memory/source", here)
	if want := (outcome{1, "", "rpcrdma get " + here + "/source/dir 2/x: is a directory: a file cannot replace it\n"}); got != want {
		t.Errorf("get: got %+v, want %+v", got, want)
	}
	if got := rig.TreeOf(t, filepath.Join(here, "source")); got != want {
		t.Errorf("get: got\n%swant\n%s", got, want)
	}
	rig.Holds(t, filepath.Join(here, "secret"), []byte("secret"))
}

// tree makes files, "name:mode:content", and links, "name->target", and the directories above them.
func tree(t *testing.T, dir string, files ...string) {
	t.Helper()
	for _, f := range files {
		name, target, link := strings.Cut(f, "->")
		name, rest, _ := strings.Cut(name, ":")
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if link {
			err = os.Symlink(target, name)
		} else {
			digits, data, _ := strings.Cut(rest, ":")
			mode := os.FileMode(0)
			for _, d := range digits {
				mode = mode<<3 | os.FileMode(d-'0')
			}
			rig.Write(t, name, []byte(data))
			err = os.Chmod(name, mode)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestCopyLinks: links on the command line are followed without -r, or with a slash at the end.
func TestCopyLinks(t *testing.T) {
	r := startRig(t)
	t.Chdir(t.TempDir())
	tree(t, ".", "dir/file:644:content", "to file->dir/file", "to dir->dir", "dangling->nowhere")
	const all = `drwxr-xr-x "N"
-rw-r--r-- "N/file" "content"
`
	for i, tt := range []struct {
		args   string
		want   string
		code   int
		stderr string // without the URL
	}{
		{"to file", `-rw-r--r-- "N" "content"` + "\n", 0, ""},
		{"-r to file", `L "N" -> "dir/file"` + "\n", 0, ""},
		{"-r to dir", `L "N" -> "dir"` + "\n", 0, ""},
		{"-r dangling", `L "N" -> "nowhere"` + "\n", 0, ""},
		{"-r to dir/", all, 0, ""},
		{"to dir", "", 1, "to dir: is a directory: -r copies it\n"},
		{"dangling", "", 1, "dangling: no such file or directory\n"},
	} {
		t.Run(tt.args, func(t *testing.T) {
			args := []string{"put", "-q", tt.args}
			if name, ok := strings.CutPrefix(tt.args, "-r "); ok {
				args = []string{"put", "-r", name}
			}
			name := "up" + string(rune('a'+i))
			got := r.exec(t, "rdma", append(args, "@/memory/"+name)...)
			stderr := ""
			if tt.stderr != "" {
				stderr = "rpcrdma put " + tt.stderr
			}
			if want := (outcome{tt.code, "", stderr}); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
			down := t.TempDir()
			got = r.exec(t, "rdma", "get", "-r", "@/memory/"+name, down)
			if got.code != tt.code {
				t.Errorf("back: got %+v", got)
			}
			if got, want := rig.TreeOf(t, down), strings.ReplaceAll(tt.want, "N", name); got != want {
				t.Errorf("got\n%swant\n%s", got, want)
			}
		})
	}
	done(t, r.exec(t, "rdma", "put", "-r", ".", "@/memory/all"))
	for i, tt := range []struct{ args, want string }{
		{"@/memory/all/to%20file", `-rw-r--r-- "N" "content"` + "\n"},
		{"-r @/memory/all/to%20file", `L "N" -> "dir/file"` + "\n"},
		{"-r @/memory/all/to%20dir", `L "N" -> "dir"` + "\n"},
		{"-r @/memory/all/to%20dir/", all},
	} {
		name := string(rune('a' + i))
		down := t.TempDir()
		done(t, r.exec(t, "rdma", append(append([]string{"get"}, strings.Fields(tt.args)...), filepath.Join(down, name))...))
		if got, want := rig.TreeOf(t, down), strings.ReplaceAll(tt.want, "N", name); got != want {
			t.Errorf("%s: got\n%swant\n%s", tt.args, got, want)
		}
	}
}

// TestGetThroughLink: get follows a link in LOCAL, unless it leads nowhere.
func TestGetThroughLink(t *testing.T) {
	r := startRig(t)
	t.Chdir(t.TempDir())
	tree(t, ".", "source:644:new", "elsewhere/file:600:old", "link->elsewhere/file", "dangling->nowhere", "dir->elsewhere")
	done(t, r.exec(t, "tcp", "put", "source", "@/memory"))
	done(t, r.exec(t, "tcp", "get", "@/memory/source", "link"))
	done(t, r.exec(t, "tcp", "get", "@/memory/source", "dir"))
	got := r.exec(t, "tcp", "get", "@/memory/source", "dangling")
	if want := (outcome{1, "", "rpcrdma get dangling: is a link that leads nowhere: it is not written through\n"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	const want = `L "dangling" -> "nowhere"
L "dir" -> "elsewhere"
drwxr-xr-x "elsewhere"
-rw------- "elsewhere/file" "new"
-rw-r--r-- "elsewhere/source" "new"
L "link" -> "elsewhere/file"
-rw-r--r-- "source" "new"
`
	if got := rig.TreeOf(t, "."); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestCopySpecial: a FIFO in a tree is not copied. Of one on the command line, the data is.
func TestCopySpecial(t *testing.T) {
	r := startRig(t)
	t.Chdir(t.TempDir())
	tree(t, ".", "tree/file:644:content")
	for _, name := range []string{"tree/fifo", "fifo"} {
		if err := syscall.Mkfifo(name, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got := r.exec(t, "rdma", "put", "-r", "tree", "@/memory")
	if want := (outcome{1, "", "rpcrdma put tree/fifo: is neither a file nor a directory nor a link: not copied\n"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	done(t, r.exec(t, "rdma", "get", "-r", "@/memory/tree", "down"))
	if got, want := rig.TreeOf(t, "down"), `-rw-r--r-- "file" "content"`+"\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}

	data := rig.Pattern(3<<20 + 5)
	wrote := make(chan error, 1)
	go func() {
		f, err := os.OpenFile("fifo", os.O_WRONLY, 0)
		if err == nil {
			_, err = f.Write(data)
			f.Close()
		}
		wrote <- err
	}()
	done(t, r.exec(t, "rdma", "put", "fifo", "@/memory/up"))
	if err := <-wrote; err != nil {
		t.Error(err)
	}
	read := make(chan []byte, 1)
	go func() {
		p, _ := os.ReadFile("fifo")
		read <- p
	}()
	done(t, r.exec(t, "rdma", "get", "@/memory/up", "fifo"))
	if got := <-read; !bytes.Equal(got, data) {
		t.Errorf("%d bytes came back, want %d", len(got), len(data))
	}
	if i, err := os.Lstat("fifo"); err != nil || i.Mode().Type() != os.ModeNamedPipe {
		t.Errorf("the FIFO is %v, %v", i, err)
	}
	got = r.exec(t, "rdma", "get", "@/memory/up", "-")
	if got.code != 0 || got.stdout != string(data) || got.stderr != "" {
		t.Errorf("to standard output: exit code %d, %d bytes, %q", got.code, len(got.stdout), got.stderr)
	}
}
