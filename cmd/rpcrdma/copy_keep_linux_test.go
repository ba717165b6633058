package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/remote"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/rig"
)

// stamp sets the times of a file, or of a link itself, by a number.
func stamp(t *testing.T, name string, n int64) {
	t.Helper()
	times := []unix.Timespec{{Sec: 1e9 + n, Nsec: 123456789 + n}, {Sec: 9e8 + n, Nsec: 987654321 + n}}
	if err := unix.UtimesNanoAt(unix.AT_FDCWD, name, times, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		t.Fatal(err)
	}
}

// exact describes the files in a directory of this host with all details.
func exact(t *testing.T, dir string, names []string) string {
	t.Helper()
	var b strings.Builder
	for _, name := range names {
		i, err := os.Lstat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		s := i.Sys().(*syscall.Stat_t)
		mode := i.Mode()
		if mode&fs.ModeSymlink != 0 {
			mode = fs.ModeSymlink // the rest means nothing
		}
		fmt.Fprintln(&b, mode, s.Uid, s.Gid, time.Unix(s.Atim.Unix()).UTC(), time.Unix(s.Mtim.Unix()).UTC(), name)
	}
	return b.String()
}

// TestCopyTimesOutOfRange: put, get and the server turn times that NFS does not have into the
// nearest one. A repeated copy takes such a file for unchanged.
func TestCopyTimesOutOfRange(t *testing.T) {
	r := startRig(t)
	first, last := time.Unix(0, 0), time.Unix(1<<32-1, 1e9-1)
	for _, tt := range []struct{ at, want time.Time }{
		{time.Date(1960, 1, 2, 3, 4, 5, 6, time.UTC), first},
		{time.Date(2120, 1, 2, 3, 4, 5, 6, time.UTC), last},
	} {
		name := fmt.Sprint(tt.at.Year())
		local := rig.Write(t, filepath.Join(t.TempDir(), name), []byte("content"))
		r.file(t, name, "content")
		for _, file := range []string{local, r.path(name)} {
			if err := os.Chtimes(file, tt.at, tt.at); err != nil {
				t.Fatal(err)
			}
		}
		if i, err := os.Stat(local); err != nil || !i.ModTime().Equal(tt.at) {
			t.Skipf("this host has no times of %s: %v, %v", name, i.ModTime(), err)
		}
		copied := filepath.Join(t.TempDir(), name)
		holds := func(what string) {
			t.Helper()
			if i, err := os.Stat(copied); err != nil || !i.ModTime().Equal(tt.want) {
				t.Errorf("%s of %s: got %v, %v", what, name, i.ModTime().UTC(), err)
			}
		}
		done(t, r.exec(t, "tcp", "get", "-q", "-p", "@/export/"+name, copied))
		holds("get")
		done(t, r.exec(t, "tcp", "put", "-q", "-p", local, "@/memory/"+name))
		done(t, r.exec(t, "tcp", "get", "-q", "-p", "@/memory/"+name, copied))
		holds("put and get")
		for _, args := range [][]string{
			{"put", "-v", "-p", "-u", local, "@/memory/" + name},
			{"get", "-v", "-p", "-u", "@/export/" + name, copied},
		} {
			if got := r.exec(t, "tcp", args...); got.code != 0 || !strings.HasSuffix(got.stderr, ": it is unchanged\n") {
				t.Errorf("%v once more: %+v", args, got)
			}
		}
	}
}

// TestCopyKeeps: -p keeps all details exactly.
func TestCopyKeeps(t *testing.T) {
	r := startRig(t)
	source := filepath.Join(t.TempDir(), "source")
	tree(t, source, "plain:644:x", "read-only:444:x", "private:600:x", "set:755:x", "link->plain", "dangling->nowhere",
		"closed/file:640:x", "closed/deep/file:400:x", "open/file:666:x", "empty/x:644:")
	paths := []string{"plain", "read-only", "private", "set", "link", "dangling", "closed/deep/file", "closed/deep", "closed/file", "closed",
		"open/file", "open", "empty/x", "empty", "."}
	modes := map[string]fs.FileMode{"set": 0o755 | fs.ModeSetuid | fs.ModeSetgid, "closed/deep": 0o500, "closed": 0o555, "open": 0o777 | fs.ModeSticky, ".": 0o750}
	for i, name := range paths {
		full := filepath.Join(source, name)
		if os.Getuid() == 0 && i%2 == 0 {
			if err := os.Lchown(full, 1000+i, 2000+i); err != nil {
				t.Fatal(err)
			}
		}
		if mode, ok := modes[name]; ok {
			if err := os.Chmod(full, mode); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Cleanup(func() { // so that it can be removed
		filepath.WalkDir(filepath.Dir(source), func(path string, e fs.DirEntry, _ error) error {
			if e.IsDir() {
				os.Chmod(path, 0o755)
			}
			return nil
		})
		os.Chmod(filepath.Join(source, "closed"), 0o755)
	})
	for _, scheme := range schemes {
		for _, export := range []string{"memory", "export"} {
			t.Run(scheme+export, func(t *testing.T) {
				for i, name := range paths {
					stamp(t, filepath.Join(source, name), int64(i))
				}
				want := exact(t, source, paths)
				up := "@/" + export + "/" + scheme
				done(t, r.exec(t, scheme, "put", "-rp", source, up))
				if export == "export" {
					if got := exact(t, r.path(scheme), paths); got != want {
						t.Errorf("put: got\n%swant\n%s", got, want)
					}
				}
				down := filepath.Join(t.TempDir(), "down")
				done(t, r.exec(t, scheme, "get", "-rp", up, down))
				if got := exact(t, down, paths); got != want {
					t.Errorf("get: got\n%swant\n%s", got, want)
				}
				os.Chmod(filepath.Join(down, "closed"), 0o755)
				os.Chmod(filepath.Join(down, "closed/deep"), 0o755)
			})
		}
	}
}

// needRoot skips a test unless root runs it, who alone can make files of others.
func needRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("files of others are made by root")
	}
}

// startOpenRig starts a server that lets all write to its directory.
func startOpenRig(t *testing.T) *clientRig {
	t.Helper()
	needRoot(t)
	r := startRig(t)
	if err := os.Chmod(r.dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestPutKeepsAsUser: a user who may not give files away keeps the other details, without set-ID.
func TestPutKeepsAsUser(t *testing.T) {
	r := startOpenRig(t)
	source := t.TempDir()
	tree(t, source, "tree/closed/file:444:x", "tree/set:755:x", "tree/own:755:x", "tree/group:755:x")
	for _, f := range []struct {
		name     string
		uid, gid int
		mode     fs.FileMode
	}{
		{"tree/closed/file", 0, 0, 0o444}, {"tree/closed", 0, 0, 0o555}, {"tree/set", 1001, 1001, 0o755 | fs.ModeSetuid},
		{"tree/own", 1000, 1000, 0o755 | fs.ModeSetuid}, {"tree/group", 1000, 1002, 0o755 | fs.ModeSetgid}, {"tree", 0, 0, 0o755},
	} {
		name := filepath.Join(source, f.name)
		if err := os.Chown(name, f.uid, f.gid); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(name, f.mode); err != nil {
			t.Fatal(err)
		}
		stamp(t, name, 1)
	}
	done(t, r.exec(t, "rdma", "put", "-rp", "--uid", "1000", "--gid", "1000", "--groups", "1002", source+"/tree", "@/export/up"))
	const times = " 2001-09-09 01:46:41.12345679 +0000 UTC 1998-07-09 16:00:01.987654322 +0000 UTC "
	want := strings.Join([]string{
		"-r--r--r-- 1000 1000" + times + "up/closed/file",
		"dr-xr-xr-x 1000 1000" + times + "up/closed",
		"-rwxr-xr-x 1000 1000" + times + "up/set",
		"urwxr-xr-x 1000 1000" + times + "up/own",
		"grwxr-xr-x 1000 1002" + times + "up/group",
		"drwxr-xr-x 1000 1000" + times + "up",
		""}, "\n")
	if got := exact(t, r.dir, []string{"up/closed/file", "up/closed", "up/set", "up/own", "up/group", "up"}); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestCopyModes: without -p, new files have permissions less the umask, and no other bits.
func TestCopyModes(t *testing.T) {
	r := startRig(t)
	source := t.TempDir()
	tree(t, source, "tree/file:666:x", "tree/script:777:x", "tree/read-only:444:x", "tree/dir/x:600:x", "tree/closed/file:644:x")
	for name, mode := range map[string]fs.FileMode{"tree/script": 0o777 | fs.ModeSetuid, "tree/dir": 0o777 | fs.ModeSticky, "tree/closed": 0o555, "tree": 0o775} {
		if err := os.Chmod(filepath.Join(source, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { os.Chmod(filepath.Join(source, "tree/closed"), 0o755) })
	want := ""
	for _, f := range []struct {
		name string
		mode fs.FileMode
	}{{"closed", 0o555 | fs.ModeDir}, {"closed/file", 0o644}, {"dir", 0o777 | fs.ModeDir}, {"dir/x", 0o600}, {"file", 0o666}, {"read-only", 0o444}, {"script", 0o777}} {
		want += fmt.Sprintf("%v %q", f.mode&^remote.Umask, f.name)
		if !f.mode.IsDir() {
			want += ` "x"`
		}
		want += "\n"
	}
	done(t, r.exec(t, "tcp", "put", "-r", source+"/tree", "@/export/up"))
	if got := rig.TreeOf(t, r.path("up")); got != want {
		t.Errorf("put: got\n%swant\n%s", got, want)
	}
	if err := os.RemoveAll(r.path("up/closed")); err != nil {
		t.Fatal(err)
	}
	done(t, r.exec(t, "tcp", "put", "-rp", source+"/tree/.", "@/export/up"))
	down := filepath.Join(t.TempDir(), "down")
	done(t, r.exec(t, "tcp", "get", "-r", "@/export/up", down))
	if got := rig.TreeOf(t, down); got != want {
		t.Errorf("get: got\n%swant\n%s", got, want)
	}
	os.Chmod(filepath.Join(down, "closed"), 0o755)
	os.Chmod(r.path("up/closed"), 0o755)
}
