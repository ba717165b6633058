package dirfs

import (
	"errors"
	"io/fs"
	"path/filepath"
)

// NewKey makes a new key for the handles of a state directory (Config.State) that no file system
// uses. Handles of the former key stay valid until the next NewKey. A directory that has no keys
// stays as it is.
func NewKey(state string) error {
	return changeKeys(state, func(id *identity) { id.Former = [][]byte{id.Key} })
}

// RevokeKeys makes a new key, as NewKey does, for when somebody else may know a key: no handle of a
// former key stays valid, and clients must mount again.
func RevokeKeys(state string) error {
	return changeKeys(state, func(id *identity) { id.Former = nil })
}

// changeKeys makes a new key. Before that, keep sets the former keys that stay valid.
func changeKeys(state string, keep func(*identity)) error {
	file := filepath.Join(state, identityFile)
	if _, err := readIdentity(file); errors.Is(err, fs.ErrNotExist) {
		return nil // and no lock is made
	}
	lock, err := lockState(state)
	if err != nil {
		return err
	}
	defer lock.Close()
	id, err := readIdentity(file)
	if err != nil {
		return err
	}
	keep(&id)
	id.Version, id.Key = identityVersion, newSecret()
	return id.save(file)
}
