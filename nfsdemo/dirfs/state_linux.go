package dirfs

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Files of the state directory.
const (
	lockFile     = "lock"     // locked by the process that uses the directory
	identityFile = "identity" // an identity
	hintsFile    = "hints"    // a hintLog
)

// identity is what stays the same over restarts.
type identity struct {
	Path       string // what it was last
	Inode      uint64 // of the directory
	Generation uint64
	ID         uint64 // of the file system
	Key        []byte // of the handles
}

// keyLen is the length of the key in bytes.
const keyLen = 32

func newIdentity(path string, root key) identity {
	random := make([]byte, 8+keyLen)
	rand.Read(random)
	return identity{path, root.ino, root.gen, binary.BigEndian.Uint64(random), random[8:]}
}

// lockState makes the state directory if need be, and takes it for this process. It stays taken
// until the file is closed.
func lockState(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("dirfs: state: %w", err)
	}
	if err := checkOwner(dir); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("dirfs: state is not writable: %w", err)
	}
	err = again(func() error { return unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) })
	if err != nil {
		lock.Close()
		if err == unix.EWOULDBLOCK {
			return nil, fmt.Errorf("dirfs: state %s is in use by another server", dir)
		}
		return nil, fmt.Errorf("dirfs: state %s: lock: %w", dir, err)
	}
	return lock, nil
}

// loadIdentity returns what is kept in the state directory for the directory root, and makes it
// when there is nothing yet.
func loadIdentity(dir, path string, root key) (identity, error) {
	file := filepath.Join(dir, identityFile)
	b, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		id := newIdentity(path, root)
		return id, id.save(file)
	case err != nil:
		return identity{}, fmt.Errorf("dirfs: state: %w", err)
	}
	var id identity
	if err := json.Unmarshal(b, &id); err != nil {
		return identity{}, fmt.Errorf("dirfs: state %s: %w", file, err)
	}
	if len(id.Key) != keyLen {
		return identity{}, fmt.Errorf("dirfs: state %s: the key has %d bytes, want %d",
			file, len(id.Key), keyLen)
	}
	if was := (key{id.Inode, id.Generation}); was != root {
		return identity{}, fmt.Errorf("dirfs: state %s belongs to another directory: to what was %s",
			dir, id.Path)
	}
	if id.Path != path {
		id.Path = path
		return id, id.save(file)
	}
	return id, nil
}

func (id *identity) save(file string) error {
	b, err := json.MarshalIndent(id, "", "\t")
	if err != nil {
		return err
	}
	f, err := replace(file, append(b, '\n'))
	if err != nil {
		return fmt.Errorf("dirfs: state is not writable: %w", err)
	}
	return f.Close()
}

// openLog reads the log of names into a table, and begins it anew.
func (t *table) openLog(l *hintLog) error {
	b, err := os.ReadFile(l.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("dirfs: state: %w", err)
	}
	t.load(b)
	if err := l.rewrite(t); err != nil {
		return fmt.Errorf("dirfs: state is not writable: %w", err)
	}
	t.log = l
	return nil
}
