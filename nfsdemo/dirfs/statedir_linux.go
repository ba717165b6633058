package dirfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// replace atomically replaces the file at path with one that holds b.
func replace(path string, b []byte) error {
	tmp := path + ".new"
	f, err := os.OpenFile(tmp, os.O_RDWR|os.O_CREATE|os.O_TRUNC|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		os.Remove(tmp)
		return err
	}
	return syncDir(filepath.Dir(path))
}

// makeState makes a directory and its missing parents on stable storage.
func makeState(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := makeState(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDir(parent)
}

// errUnsafe is the error for a state directory that another user owns or can read.
var errUnsafe = errors.New("unsafe")

// openStateFile opens a file of the state directory. It returns errUnsafe if another user can read
// the file or made it.
func openStateFile(path string, flags int) (*os.File, error) {
	f, err := os.OpenFile(path, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err := again(func() error { return unix.Fstat(int(f.Fd()), &st) }); err != nil {
		f.Close()
		return nil, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		err = fmt.Errorf("%w: %s is not a regular file: remove it", errUnsafe, path)
	case st.Uid != 0 && int(st.Uid) != os.Geteuid():
		err = fmt.Errorf("%w: %s belongs to user %d: somebody else may have made it; remove it, or "+
			"chown it if it is yours", errUnsafe, path, st.Uid)
	case st.Mode&0o077 != 0:
		err = fmt.Errorf("%w: %s has mode %#o: whoever can read it can make handles; chmod it to "+
			"0600, and revoke the keys (serve --revoke-keys) if somebody may have read it",
			errUnsafe, path, st.Mode&0o7777)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func readStateFile(path string) ([]byte, error) {
	f, err := openStateFile(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// checkOwner refuses a directory in which other users could place a key that they know.
func checkOwner(dir string) error {
	var st unix.Stat_t
	if err := again(func() error { return unix.Stat(dir, &st) }); err != nil {
		return fmt.Errorf("dirfs: state: %w", &fs.PathError{Op: "stat", Path: dir, Err: err})
	}
	switch {
	case st.Uid != 0 && int(st.Uid) != os.Geteuid():
		return fmt.Errorf("dirfs: state: %w: %s belongs to user %d: name another directory, or chown it",
			errUnsafe, dir, st.Uid)
	case st.Mode&0o022 != 0:
		return fmt.Errorf("dirfs: state: %w: %s can be written by others (mode %#o): chmod it to 0700",
			errUnsafe, dir, st.Mode&0o7777)
	}
	return nil
}

// below reports whether a directory is root or lies below it. For a directory that does not exist,
// it reports where it would be made.
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
			return false, nil // the host's root is its own ".."
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
