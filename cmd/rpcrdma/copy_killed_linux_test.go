package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/rig"
	"github.com/rpcrdma/go-rpcrdma/transport/faultnet"
)

// killed kills a command while it copies a file of 16 MiB that begins with some bytes. By then its
// temporary file, in a directory of this host, begins with these, too. It returns the name of that
// file.
func killed(t *testing.T, w *copyWay, begin []byte, args ...string) string {
	t.Helper()
	const (
		// most of the data passes, so that the command cannot end before it is killed.
		most = 13 << 20
		// Of that all but 8 MiB are in order, as so many READs and WRITEs are under way at a time.
		least = 4 << 20
	)
	way := faultnet.Up
	if w.command == "get" {
		way = faultnet.Down
	}
	relay, err := faultnet.NewRelay(w.rdma, faultnet.Config{
		OnLink: func(l *faultnet.Link) { l.FreezeAt(way, most) },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer relay.Close()
	through := &clientRig{serveCommand: &serveCommand{rdma: relay.Addr()}}
	cmd := through.process(t, append([]string{w.command}, args...)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	for until := time.Now().Add(time.Minute); time.Now().Before(until); time.Sleep(time.Millisecond) {
		for _, name := range temporaries(t, w.target) {
			i, err := os.Stat(name)
			if err != nil || i.Size() <= least {
				continue
			}
			if b, err := os.ReadFile(name); err == nil && bytes.HasPrefix(b, begin) {
				return name
			}
		}
	}
	t.Fatal("no temporary file was written")
	return ""
}

// temporaries returns the temporary files in a directory of this host.
func temporaries(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, ".rpcrdma-*"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestCopyKilled: ls -a shows the temporary file of a killed command. A later copy removes it if it
// is older than a day, and until then leaves it, as it may be another copy's. Other files, and
// those of other users, stay.
func TestCopyKilled(t *testing.T) {
	eachWay(t, func(t *testing.T, w *copyWay) {
		large := filepath.Join(w.source, "large")
		rig.Write(t, large, rig.Pattern(16<<20))
		temp := killed(t, w, nil, "-q", w.from+"/large", w.to)
		if err := os.Remove(large); err != nil {
			t.Fatal(err)
		}
		if w.command != "get" {
			got := w.exec(t, "tcp", "ls", "-a", w.to)
			if want := filepath.Base(temp); got.code != 0 || strings.TrimSpace(got.stdout) != want {
				t.Errorf("ls -a: %+v, want %s", got, want)
			}
		}
		tree(t, w.source, "d/e:644:e", "f:644:f")
		tree(t, w.target, "d/.rpcrdma-abcdefghij:600:old", ".rpcrdma-ABCDEFGHIJ:600:no", ".rpcrdma-abcdefghijk:600:no", ".rpcrdma-abcdefghi:600:no",
			".rpcrdma-bcdefghijk->dangling")
		if err := os.Mkdir(filepath.Join(w.target, ".rpcrdma-cdefghijkl"), 0o755); err != nil {
			t.Fatal(err)
		}
		if os.Getuid() == 0 {
			tree(t, w.target, ".rpcrdma-aaaaaaaaaa:600:of another")
			if err := os.Chown(filepath.Join(w.target, ".rpcrdma-aaaaaaaaaa"), 1000, 1000); err != nil {
				t.Fatal(err)
			}
		}
		done(t, w.copy(t, "-q"))
		if got := len(temporaries(t, w.target)) + len(temporaries(t, filepath.Join(w.target, "d"))); got < 7 {
			t.Errorf("of young files, %d are left", got)
		}
		for _, name := range append(temporaries(t, w.target), filepath.Join(w.target, "d/.rpcrdma-abcdefghij")) {
			if i, err := os.Lstat(name); err == nil && i.Mode().Type() != os.ModeSymlink {
				at(t, name, 25*time.Hour)
			}
		}
		stamp(t, filepath.Join(w.target, ".rpcrdma-bcdefghijk"), 1)
		at(t, filepath.Join(w.source, "d"), time.Hour)
		if got := w.copy(t, "-pq", "--dry-run"); got.code != 0 || got.stderr != "" {
			t.Errorf("dry run: %+v", got)
		}
		got := w.copy(t, "-p")
		if want := ": removed temporary files that an interrupted copy left more than a day ago: 3\n"; got.code != 0 || !strings.Contains(got.stderr, want) {
			t.Errorf("got %+v, want %q in it", got, want)
		}
		var left []string
		for _, name := range temporaries(t, w.target) {
			left = append(left, strings.TrimPrefix(filepath.Base(name), ".rpcrdma-"))
		}
		want := "ABCDEFGHIJ abcdefghi abcdefghijk cdefghijkl"
		if os.Getuid() == 0 {
			want = "ABCDEFGHIJ aaaaaaaaaa abcdefghi abcdefghijk cdefghijkl"
		}
		if got := strings.Join(left, " "); got != want {
			t.Errorf("left are %s, want %s", got, want)
		}
		if left := temporaries(t, filepath.Join(w.target, "d")); len(left) > 0 {
			t.Errorf("left are %v", left)
		}
		if got, want := modified(t, w.target, "d"), modified(t, w.source, "d"); !got.Equal(want) {
			t.Errorf("the directory has time %v, want %v", got, want)
		}
	})
}

// TestCopySweepsWhereFilesGo: a copy of a single file also sweeps its target directory.
func TestCopySweepsWhereFilesGo(t *testing.T) {
	eachWay(t, func(t *testing.T, w *copyWay) {
		tree(t, w.source, "f:644:f")
		tree(t, w.target, ".rpcrdma-abcdefghij:600:old", "sub/.rpcrdma-abcdefghij:600:old")
		for _, name := range []string{".rpcrdma-abcdefghij", "sub/.rpcrdma-abcdefghij"} {
			at(t, filepath.Join(w.target, name), 25*time.Hour)
		}
		done(t, w.exec(t, "tcp", w.command, "-q", w.from+"/f", w.to))
		want := `-rw-r--r-- "f" "f"
drwxr-xr-x "sub"
-rw------- "sub/.rpcrdma-abcdefghij" "old"
`
		if got := rig.TreeOf(t, w.target); got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
	})
}

// TestRmPartials: rm --partials removes temporary files of any age, and nothing else.
func TestRmPartials(t *testing.T) {
	r := startRig(t)
	tree(t, r.dir, "d/.rpcrdma-abcdefghij:600:x", "d/.rpcrdma-bcdefghijk->x", "d/.rpcrdma-x:600:no", "d/file:644:file",
		"d/e/.rpcrdma-abcdefghij:600:x", ".rpcrdma-abcdefghij:600:x", "d/link->../e")
	r.mkdir(t, "d/.rpcrdma-cdefghijkl")
	named := "removed @/export/d/.rpcrdma-abcdefghij\nremoved @/export/d/.rpcrdma-bcdefghijk\n"
	if got := r.exec(t, "tcp", "rm", "-v", "--partials", "@/export/d"); got != (outcome{0, named, ""}) {
		t.Errorf("got %+v, want %q", got, named)
	}
	const left = `-rw------- "d/.rpcrdma-x" "no"
drwxr-xr-x "d/e"
`
	for _, tt := range []struct{ args, want string }{
		{"--partials", `-rw------- "d/e/.rpcrdma-abcdefghij" "x"` + "\n"},
		{"-r --partials", ""},
	} {
		done(t, r.exec(t, "tcp", append(append([]string{"rm"}, strings.Fields(tt.args)...), "@/export/d")...))
		want := `-rw------- ".rpcrdma-abcdefghij" "x"
drwxr-xr-x "d"
drwxr-xr-x "d/.rpcrdma-cdefghijkl"
` + left + tt.want + `-rw-r--r-- "d/file" "file"
L "d/link" -> "../e"
`
		if got := r.tree(t); got != want {
			t.Errorf("%s: got\n%swant\n%s", tt.args, got, want)
		}
	}
	got := r.exec(t, "tcp", "rm", "--partials", "@/export/d/file")
	if want := (outcome{1, "", "rpcrdma rm @/export/d/file: not a directory\n"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
