package dirfs

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// replace puts a file that holds b into the place of another in one step, and returns it open.
func replace(path string, b []byte) (*os.File, error) {
	tmp := path + ".new"
	f, err := os.OpenFile(tmp, os.O_RDWR|os.O_CREATE|os.O_TRUNC|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err == nil {
		err = syncDir(filepath.Dir(path))
	}
	if err != nil {
		f.Close()
		os.Remove(tmp)
		return nil, err
	}
	return f, nil
}

func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// checkOwner refuses a directory in which others could put a key that they know.
func checkOwner(dir string) error {
	var st unix.Stat_t
	if err := again(func() error { return unix.Stat(dir, &st) }); err != nil {
		return fmt.Errorf("dirfs: state: %w", &fs.PathError{Op: "stat", Path: dir, Err: err})
	}
	if st.Uid != 0 && int(st.Uid) != os.Geteuid() || st.Mode&0o002 != 0 {
		return fmt.Errorf("dirfs: state %s can be written by others", dir)
	}
	return nil
}

// below reports whether a directory is root or lies below it, or would if it were made.
func below(dir string, root *unix.Statx_t) (bool, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return false, err
	}
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_CLOEXEC, 0)
	for err == unix.ENOENT && dir != "/" {
		dir = filepath.Dir(dir)
		fd, err = unix.Open(dir, unix.O_PATH|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		return false, &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	defer func() { unix.Close(fd) }()
	var st, last unix.Statx_t
	for {
		if err := statFD(fd, &st); err != nil {
			return false, &fs.PathError{Op: "statx", Path: dir, Err: err}
		}
		if sameFile(&st, root) {
			return true, nil
		}
		if sameFile(&st, &last) {
			return false, nil // ".." of the root of all
		}
		last = st
		up, err := unix.Openat(fd, "..", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return false, &fs.PathError{Op: "open", Path: dir + " ..", Err: err}
		}
		unix.Close(fd)
		fd = up
	}
}

func sameFile(a, b *unix.Statx_t) bool {
	return a.Ino == b.Ino && a.Dev_major == b.Dev_major && a.Dev_minor == b.Dev_minor
}
