package users

import (
	"errors"
	"fmt"
	"io/fs"
	"os/user"
	"runtime"
)

// goUser asks package os/user.
type goUser struct{}

func (goUser) String() string {
	if runtime.GOOS == "darwin" || runtime.GOOS == "windows" {
		return "the system"
	}
	return "/etc/passwd and /etc/group, as there is no getent"
}

func (goUser) user(by key, value string) (a account, err error) {
	lookUp := user.Lookup
	if by == byNumber {
		lookUp = user.LookupId
	}
	u, err := lookUp(value)
	if err != nil {
		return a, known(err)
	}
	return numbered(u.Username, u.Uid, u.Gid)
}

func (goUser) group(by key, value string) (a account, err error) {
	lookUp := user.LookupGroup
	if by == byNumber {
		lookUp = user.LookupGroupId
	}
	g, err := lookUp(value)
	if err != nil {
		return a, known(err)
	}
	return numbered(g.Name, "0", g.Gid)
}

func (goUser) groups(a account) ([]uint32, error) {
	u := user.User{Username: a.name, Uid: fmt.Sprint(a.uid), Gid: fmt.Sprint(a.gid)}
	ids, err := u.GroupIds()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return withPrimary(a.gid, ids)
}

// known makes an error wrap ErrUnknown if it means that. A container may lack /etc/passwd or
// /etc/group, and then has no users or no groups.
func known(err error) error {
	var (
		userName  user.UnknownUserError
		userID    user.UnknownUserIdError
		groupName user.UnknownGroupError
		groupID   user.UnknownGroupIdError
	)
	if errors.As(err, &userName) || errors.As(err, &userID) || errors.As(err, &groupName) ||
		errors.As(err, &groupID) || errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w (%w)", ErrUnknown, err)
	}
	return err
}

// numbered returns an account with numbers that are parsed.
func numbered(name, uid, gid string) (a account, err error) {
	a.name = name
	if a.uid, err = parseID(uid); err != nil {
		return account{}, err
	}
	if a.gid, err = parseID(gid); err != nil {
		return account{}, err
	}
	return a, nil
}

// withPrimary returns groups with the primary one first, and once.
func withPrimary(gid uint32, ids []string) ([]uint32, error) {
	groups := append(make([]uint32, 0, len(ids)+1), gid)
	for _, id := range ids {
		n, err := parseID(id)
		if err != nil {
			return nil, err
		}
		if n != gid {
			groups = append(groups, n)
		}
	}
	return groups, nil
}
