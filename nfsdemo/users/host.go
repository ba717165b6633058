package users

import (
	"fmt"
	"os/exec"
	"runtime"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// HostDatabase is the user database of this host, a Database. Its methods return errors that wrap
// ErrUnknown if there is no such user or group.
type HostDatabase struct{ source source }

// source finds users and groups of this host. Numbers as keys are decimal.
type source interface {
	user(by key, value string) (account, error)
	group(by key, value string) (account, error)
	// groups returns all groups of a user, the primary one first.
	groups(account) ([]uint32, error)
	fmt.Stringer
}

// key says what a look-up goes by.
type key int

const (
	byName key = iota
	byNumber
)

// Host returns the user database of this host. It asks getent(1) and id(1), which have the sources
// in nsswitch.conf, such as LDAP and SSSD. Where PATH does not have both, it asks package os/user:
// without cgo that is /etc/passwd and /etc/group on Linux.
//
// A command takes at most 30 seconds, and at most 16 run at a time. The C library, and so getent,
// does not tell a source that is down from one that lacks the user. It takes a name of digits for a
// number: no user is found by such a name.
func Host() *HostDatabase {
	getent, err := exec.LookPath("getent")
	if err != nil || runtime.GOOS == "windows" {
		return &HostDatabase{goUser{}}
	}
	id, err := exec.LookPath("id")
	if err != nil {
		return &HostDatabase{goUser{}}
	}
	return &HostDatabase{&commands{getent: getent, id: id, limit: lookupLimit}}
}

// String says where the users come from.
func (h *HostDatabase) String() string { return h.source.String() }

// User returns a user by name, with all groups.
func (h *HostDatabase) User(name string) (*vfs.Cred, error) {
	a, err := h.source.user(byName, name)
	if err != nil {
		return nil, err
	}
	groups, err := h.source.groups(a)
	if err != nil {
		return nil, err
	}
	return &vfs.Cred{UID: a.uid, GID: a.gid, GIDs: groups}, nil
}

// Groups returns all groups of a user, the primary one first.
func (h *HostDatabase) Groups(uid uint32) ([]uint32, error) {
	a, err := h.source.user(byNumber, fmt.Sprint(uid))
	if err != nil {
		return nil, err
	}
	return h.source.groups(a)
}

// UserID returns the number of a user.
func (h *HostDatabase) UserID(name string) (uint32, error) {
	a, err := h.source.user(byName, name)
	return a.uid, err
}

// GroupID returns the number of a group.
func (h *HostDatabase) GroupID(name string) (uint32, error) {
	a, err := h.source.group(byName, name)
	return a.gid, err
}

// UserName returns the name of a user.
func (h *HostDatabase) UserName(uid uint32) (string, error) {
	a, err := h.source.user(byNumber, fmt.Sprint(uid))
	return a.name, err
}

// GroupName returns the name of a group.
func (h *HostDatabase) GroupName(gid uint32) (string, error) {
	a, err := h.source.group(byNumber, fmt.Sprint(gid))
	return a.name, err
}
