package dirfs

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Files in the state directory, besides the segments of names.
const (
	lockFile     = "lock"     // locked by the process that uses the directory
	identityFile = "identity" // an identity
	hintsFile    = "hints"    // names, of the format before there were segments
)

// identityVersion is the version of the format. The format without a version had no Former.
const identityVersion = 1

// identity is what survives restarts.
type identity struct {
	Version    int
	Path       string // the directory's path at the last start
	Inode      uint64 // of the directory
	Generation uint64
	ID         uint64   // of the file system
	Key        []byte   // of the handles
	Former     [][]byte `json:",omitempty"` // keys of older handles that are still valid
}

// secretLen is the length of a key in bytes.
const secretLen = 32

func newIdentity(path string, root key) identity {
	random := make([]byte, 8)
	rand.Read(random)
	return identity{identityVersion, path, root.ino, root.gen, binary.BigEndian.Uint64(random),
		newSecret(), nil}
}

func newSecret() []byte {
	b := make([]byte, secretLen)
	rand.Read(b)
	return b
}

// sealer returns the sealer with the keys.
func (id *identity) sealer() *sealer {
	return newSealer(id.ID, append([][]byte{id.Key}, id.Former...))
}

// lockState locks the state directory for this process, and makes it if needed. The lock ends when
// the file is closed.
func lockState(dir string) (*os.File, error) {
	if err := makeState(dir); err != nil {
		return nil, fmt.Errorf("dirfs: state: %w", err)
	}
	if err := checkOwner(dir); err != nil {
		return nil, err
	}
	lock, err := openStateFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE)
	if errors.Is(err, errUnsafe) {
		return nil, fmt.Errorf("dirfs: state: %w", err)
	}
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

// loadIdentity reads the identity of the directory root from the state directory, or makes one.
func loadIdentity(dir, path string, root key, logger *slog.Logger) (id identity, err error) {
	file := filepath.Join(dir, identityFile)
	id, err = readIdentity(file)
	if errors.Is(err, fs.ErrNotExist) {
		id = newIdentity(path, root)
		return id, id.save(file)
	}
	if err != nil {
		return id, err
	}
	was := identity{Version: id.Version, Path: id.Path, Inode: id.Inode, Generation: id.Generation}
	if same := (key{id.Inode, id.Generation}) == root; !same && id.Path != path {
		return id, fmt.Errorf("dirfs: state %s belongs to another directory: to what was %s",
			dir, id.Path)
	} else if !same {
		logger.Warn("the directory is another than it was: handles of the files in that one are stale",
			"path", path)
	}
	id.Version, id.Path, id.Inode, id.Generation = identityVersion, path, root.ino, root.gen
	if id.Version != was.Version || id.Path != was.Path || id.Inode != was.Inode ||
		id.Generation != was.Generation {
		return id, id.save(file)
	}
	return id, nil
}

// readIdentity fails with fs.ErrNotExist if there is none yet.
func readIdentity(file string) (id identity, err error) {
	b, err := readStateFile(file)
	if err != nil {
		return id, fmt.Errorf("dirfs: state: %w", err)
	}
	if err = json.Unmarshal(b, &id); err == nil {
		err = id.check()
	}
	if err != nil {
		return id, fmt.Errorf("dirfs: state %s: %w", file, err)
	}
	return id, nil
}

// check says what is wrong with an identity that was read.
func (id *identity) check() error {
	if id.Version < 0 || id.Version > identityVersion {
		return fmt.Errorf("version %d of the format, which this server does not know", id.Version)
	}
	for _, k := range append([][]byte{id.Key}, id.Former...) {
		if len(k) != secretLen {
			return fmt.Errorf("a key has %d bytes, want %d", len(k), secretLen)
		}
	}
	return nil
}

func (id *identity) save(file string) error {
	b, err := json.MarshalIndent(id, "", "\t")
	if err != nil {
		return err
	}
	if err := replace(file, append(b, '\n')); err != nil {
		return fmt.Errorf("dirfs: state is not writable: %w", err)
	}
	return nil
}
