package users

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// Database is a user database. Its methods may block, and may be called concurrently. Their errors
// wrap ErrUnknown if there is no such user. Any other error means that the database cannot answer
// just now.
type Database interface {
	// User returns a user by name, with all groups.
	User(name string) (*vfs.Cred, error)
	// Groups returns all groups of a user, the primary one first.
	Groups(uid uint32) ([]uint32, error)
}

// ErrUnknown is the error of a Database that does not have the user or group.
var ErrUnknown = errors.New("no such user")

// account is a user, or a group without a uid.
type account struct {
	name     string
	uid, gid uint32
}

// noID is no user and no group (chown(2)).
const noID = 1<<32 - 1

// parseID parses the number of a user or group.
func parseID(s string) (uint32, error) {
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil || n == noID {
		return 0, fmt.Errorf("%.32q is not a number from 0 to %d", s, uint32(noID-1))
	}
	return uint32(n), nil
}
