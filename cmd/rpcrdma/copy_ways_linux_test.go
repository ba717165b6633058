package main

import (
	"os"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/rig"
)

// copyWay is one of put, get and cp, between two directories that this host can see.
type copyWay struct {
	*clientRig
	command        string
	source, target string // as paths of this host
	from, to       string // as arguments
}

// eachWay runs a test with each command.
func eachWay(t *testing.T, test func(t *testing.T, w *copyWay)) {
	t.Helper()
	for _, command := range []string{"put", "get", "cp"} {
		t.Run(command, func(t *testing.T) {
			w := &copyWay{clientRig: startRig(t), command: command}
			w.mkdir(t, "s")
			w.mkdir(t, "t")
			w.source, w.from = w.path("s"), "@/export/s"
			w.target, w.to = w.path("t"), "@/export/t"
			if command == "put" {
				w.source = t.TempDir()
				w.from = w.source
			}
			if command == "get" {
				w.target = t.TempDir()
				w.to = w.target
			}
			test(t, w)
		})
	}
}

// copy copies the contents of the source to the target.
func (w *copyWay) copy(t *testing.T, options ...string) outcome {
	t.Helper()
	return w.exec(t, "tcp", append(append([]string{w.command, "-rT"}, options...), w.from, w.to)...)
}

// copied returns the names of files and links in the target that a command has made.
func (w *copyWay) copied(t *testing.T, options ...string) string {
	t.Helper()
	before := inodes(t, w.target)
	done(t, w.copy(t, options...))
	var names []string
	for name, inode := range inodes(t, w.target) {
		if before[name] != inode {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return strings.Join(names, " ")
}

// inodes returns the inode number of each file in a directory, without directories.
func inodes(t *testing.T, dir string) map[string]uint64 {
	t.Helper()
	all := make(map[string]uint64)
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		i, err := e.Info()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		all[name] = i.Sys().(*syscall.Stat_t).Ino
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// same fails the test unless source and target have the same contents.
func (w *copyWay) same(t *testing.T) {
	t.Helper()
	if got, want := rig.TreeOf(t, w.target), rig.TreeOf(t, w.source); got != want {
		t.Errorf("the target has\n%swant\n%s", got, want)
	}
}
