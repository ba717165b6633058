package cli

import (
	"errors"
	"strconv"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/users"
)

// Names looks up the names of users and groups on this host, each once. It is not for concurrent
// use.
type Names struct {
	users, groups map[uint32]string
	failed        bool // this host does not answer
}

// User returns the name of a user, or the number if there is none.
func (n *Names) User(id uint32) string { return n.find(&n.users, id, users.Host().UserName) }

// Group returns the name of a group, or the number if there is none.
func (n *Names) Group(id uint32) string { return n.find(&n.groups, id, users.Host().GroupName) }

// find looks up a name, unless it is known already. After a failure it looks up no more: each might
// take as long.
func (n *Names) find(
	known *map[uint32]string, id uint32, lookUp func(id uint32) (string, error),
) string {
	if name, ok := (*known)[id]; ok {
		return name
	}
	name := strconv.FormatUint(uint64(id), 10)
	if !n.failed {
		is, err := lookUp(id)
		if err == nil {
			name = Printable(is)
		}
		n.failed = err != nil && !errors.Is(err, users.ErrUnknown)
	}
	if *known == nil {
		*known = make(map[uint32]string)
	}
	(*known)[id] = name
	return name
}
