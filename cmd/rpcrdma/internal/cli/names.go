package cli

import (
	"os/user"
	"strconv"
)

// Names looks up the names of users and groups on this host, each once. It is not for concurrent
// use.
type Names struct {
	users, groups map[uint32]string
}

// User returns the name of a user, or the number if there is none.
func (n *Names) User(id uint32) string {
	return find(&n.users, id, func(number string) (string, error) {
		u, err := user.LookupId(number)
		if err != nil {
			return "", err
		}
		return u.Username, nil
	})
}

// Group returns the name of a group, or the number if there is none.
func (n *Names) Group(id uint32) string {
	return find(&n.groups, id, func(number string) (string, error) {
		g, err := user.LookupGroupId(number)
		if err != nil {
			return "", err
		}
		return g.Name, nil
	})
}

// find looks up a name, unless it is known already.
func find(known *map[uint32]string, id uint32, lookUp func(number string) (string, error)) string {
	if name, ok := (*known)[id]; ok {
		return name
	}
	name := strconv.FormatUint(uint64(id), 10)
	if is, err := lookUp(name); err == nil && is != "" {
		name = Printable(is)
	}
	if *known == nil {
		*known = make(map[uint32]string)
	}
	(*known)[id] = name
	return name
}
