//go:build interop

package nfsclients

import (
	"bytes"
	"errors"
	"io"
	"os"
)

// target has what both Go clients offer; one is derived from the other.
type target[F io.ReadWriteCloser, E entry] interface {
	Open(name string) (F, error)
	OpenFile(name string, perm os.FileMode) (F, error)
	ReadDirPlus(dir string) ([]E, error)
	Mkdir(name string, perm os.FileMode) ([]byte, error)
	Remove(name string) error
	RemoveAll(name string) error
}

// entry is a directory entry.
type entry interface {
	Name() string
	Size() int64
	IsDir() bool
}

// volume is an export as a Go client sees it.
type volume[F io.ReadWriteCloser, E entry] struct {
	target[F, E]
	unmount func() error
}

func (v volume[F, E]) Write(name string, data []byte) error {
	f, err := v.OpenFile(name, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

func (v volume[F, E]) Read(name string) ([]byte, error) {
	f, err := v.Open(name)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	// Not with ReadFrom, which would read in small pieces.
	_, err = io.CopyBuffer(struct{ io.Writer }{&b}, struct{ io.Reader }{f}, make([]byte, readSize))
	return b.Bytes(), err
}

func (v volume[F, E]) List(dir string) (map[string]int64, error) {
	entries, err := v.ReadDirPlus(dir)
	if err != nil {
		return nil, err
	}
	sizes := make(map[string]int64)
	for _, e := range entries {
		if !e.IsDir() {
			sizes[e.Name()] = e.Size()
		}
	}
	return sizes, nil
}

func (v volume[F, E]) Mkdir(name string) error {
	_, err := v.target.Mkdir(name, 0o755)
	return err
}

func (v volume[F, E]) Close() error { return v.unmount() }
