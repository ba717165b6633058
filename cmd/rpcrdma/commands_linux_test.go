package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/remote"
)

// build makes files in /export. An item is "dir/", "file=content", "link -> target" or, to change
// its mode, "0555 name".
func (r *clientRig) build(t *testing.T, items ...string) {
	t.Helper()
	for _, item := range items {
		mode, name, _ := strings.Cut(item, " ")
		if link, target, ok := strings.Cut(item, " -> "); ok {
			r.mkdir(t, filepath.Dir(link))
			r.symlink(t, target, link)
		} else if file, content, ok := strings.Cut(item, "="); ok {
			r.file(t, file, content)
		} else if dir, ok := strings.CutSuffix(item, "/"); ok {
			r.mkdir(t, dir)
		} else {
			n, err := strconv.ParseUint(mode, 8, 32)
			if err == nil {
				err = unix.Chmod(r.path(name), uint32(n))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// clear empties /export.
func (r *clientRig) clear(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir(r.dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			err = os.Chmod(path, 0o700) // so that it can be removed
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	names, err := os.ReadDir(r.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range names {
		if err := os.RemoveAll(r.path(e.Name())); err != nil {
			t.Fatal(err)
		}
	}
}

// commandTest is a command line, the files before it, and those after it.
type commandTest struct {
	name   string
	files  []string // for build
	args   string   // with spaces between them
	stdout string
	stderr string // if that is all of it, without "rpcrdma " in front of each line
	code   int
	tree   []string // the files afterwards, see TreeOf; nil: those before
}

// runCommandTests runs each over each transport.
func runCommandTests(t *testing.T, tests []commandTest) {
	t.Helper()
	setUmask(t, 0o022)
	r := startRig(t)
	for _, scheme := range schemes {
		for _, tt := range tests {
			t.Run(scheme+"/"+tt.name, func(t *testing.T) {
				r.clear(t)
				r.build(t, tt.files...)
				want := r.tree(t)
				if tt.tree != nil {
					want = strings.Join(append(tt.tree, ""), "\n")
				}
				got := r.exec(t, scheme, strings.Fields(tt.args)...)
				if got.code != tt.code {
					t.Errorf("exit %d, want %d", got.code, tt.code)
				}
				if got.stdout != tt.stdout {
					t.Errorf("stdout\n%swant\n%s", got.stdout, tt.stdout)
				}
				if stderr := strings.ReplaceAll("\n"+got.stderr, "\nrpcrdma ", "\n")[1:]; stderr != tt.stderr {
					t.Errorf("stderr\n%swant\n%s", stderr, tt.stderr)
				}
				if got := r.tree(t); got != want {
					t.Errorf("then there is\n%swant\n%s", got, want)
				}
			})
		}
	}
}

// setUmask sets the umask of commands for a test.
func setUmask(t *testing.T, mask os.FileMode) {
	was := remote.Umask
	remote.Umask = mask
	t.Cleanup(func() { remote.Umask = was })
}
