package users

import (
	"errors"
	"fmt"
	"os/user"
	"strconv"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// Database is a user database. Its methods may block, and may be called concurrently. Their errors
// wrap ErrUnknown if there is no such user. Any other error means that the database cannot answer
// just now.
type Database interface {
	// User returns a user by name, with all groups.
	User(name string) (*vfs.Cred, error)
	// Groups returns all groups of a user, including the primary one.
	Groups(uid uint32) ([]uint32, error)
}

// ErrUnknown is the error of a Database that does not have the user.
var ErrUnknown = errors.New("no such user")

// Host returns the user database of this host. With cgo it is the C library's, with all sources in
// nsswitch.conf. Without cgo it is /etc/passwd and /etc/group.
func Host() Database { return host{} }

type host struct{}

func (host) User(name string) (*vfs.Cred, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return nil, known(err)
	}
	uid, err := parseID(u.Uid)
	if err != nil {
		return nil, err
	}
	gid, err := parseID(u.Gid)
	if err != nil {
		return nil, err
	}
	groups, err := groupsOf(u)
	if err != nil {
		return nil, err
	}
	return &vfs.Cred{UID: uid, GID: gid, GIDs: groups}, nil
}

func (host) Groups(uid uint32) ([]uint32, error) {
	u, err := user.LookupId(strconv.FormatUint(uint64(uid), 10))
	if err != nil {
		return nil, known(err)
	}
	return groupsOf(u)
}

func groupsOf(u *user.User) (groups []uint32, err error) {
	ids, err := u.GroupIds()
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		n, err := parseID(id)
		if err != nil {
			return nil, err
		}
		groups = append(groups, n)
	}
	return groups, nil
}

// known makes an error wrap ErrUnknown if it means that.
func known(err error) error {
	var name user.UnknownUserError
	var id user.UnknownUserIdError
	if errors.As(err, &name) || errors.As(err, &id) {
		return fmt.Errorf("%w (%w)", ErrUnknown, err)
	}
	return err
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
