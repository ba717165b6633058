//go:build unix

package treemodel

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Local is Files in a directory of this host.
type Local string

var _ Files = Local("")

func (l Local) at(name string) string { return filepath.Join(string(l), name) }

// Create makes a file.
func (l Local) Create(name string, data []byte) error {
	f, err := os.OpenFile(l.at(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// WriteAt writes a part of a file.
func (l Local) WriteAt(name string, data []byte, off int64) error {
	f, err := os.OpenFile(l.at(name), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(data, off)
	return errors.Join(err, f.Close())
}

// ReadFile reads a file.
func (l Local) ReadFile(name string) ([]byte, error) { return os.ReadFile(l.at(name)) }

// Truncate sets the size of a file.
func (l Local) Truncate(name string, size int64) error { return os.Truncate(l.at(name), size) }

// Mkdir makes a directory.
func (l Local) Mkdir(name string) error { return os.Mkdir(l.at(name), 0o755) }

// Remove removes a file or a directory.
func (l Local) Remove(name string) error { return os.Remove(l.at(name)) }

// Rename is rename(2). It avoids os.Rename, which returns fs.ErrExist where a directory cannot be
// replaced.
func (l Local) Rename(from, to string) error { return syscall.Rename(l.at(from), l.at(to)) }

// Link gives a file another name.
func (l Local) Link(from, to string) error { return os.Link(l.at(from), l.at(to)) }

// Symlink makes a symbolic link.
func (l Local) Symlink(target, name string) error { return os.Symlink(target, l.at(name)) }

// ReadLink reads a symbolic link.
func (l Local) ReadLink(name string) (string, error) { return os.Readlink(l.at(name)) }

// Chmod sets permissions.
func (l Local) Chmod(name string, mode fs.FileMode) error { return os.Chmod(l.at(name), mode) }

// ReadDir lists a directory.
func (l Local) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(l.at(name)) }

// Lstat returns a file's metadata and the number of its names.
func (l Local) Lstat(name string) (fs.FileInfo, int, error) {
	info, err := os.Lstat(l.at(name))
	if err != nil {
		return nil, 0, err
	}
	return info, int(info.Sys().(*syscall.Stat_t).Nlink), nil
}
