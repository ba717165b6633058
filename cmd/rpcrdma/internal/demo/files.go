package demo

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
)

// file is a file that the demo copies.
type file struct {
	path     string
	name     string // on the server
	size     int64
	sent     hash.Hash
	Received hash.Hash
}

// FindFiles returns the files to copy. Without a path, that is this program.
func FindFiles(paths []string) ([]*file, error) {
	if len(paths) == 0 {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		paths = []string{self}
	}
	var files []*file
	names := make(map[string]bool)
	for _, path := range paths {
		size, err := check(path)
		if err != nil {
			return nil, fmt.Errorf("cannot copy %s: %w", cli.Printable(path), err)
		}
		base := filepath.Base(path)
		name := base
		for i := 2; names[name]; i++ {
			name = fmt.Sprintf("%s.%d", base, i)
		}
		names[name] = true
		files = append(files, &file{path: path, name: name, size: size, sent: sha256.New(), Received: sha256.New()})
	}
	return files, nil
}

// check returns the size of a file, if it can be read.
func check(path string) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		if e := (*fs.PathError)(nil); errors.As(err, &e) {
			err = e.Err // the caller names the file
		}
		return 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	if !info.Mode().IsRegular() {
		return 0, errors.New("not a regular file")
	}
	return info.Size(), nil
}

func (f *file) open() (*os.File, error) { return os.Open(f.path) }

// same reports whether what was sent has come back.
func (f *file) same() bool { return bytes.Equal(f.sent.Sum(nil), f.Received.Sum(nil)) }

// capacityFor returns how many bytes a file system needs for the files.
func capacityFor(files []*file) int64 {
	n := int64(64 << 20) // some may be growing
	for _, f := range files {
		n += f.size + 128<<10
	}
	return n
}
