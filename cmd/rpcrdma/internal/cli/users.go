package cli

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/users"
)

// SquashFlag is a choice that knows the words of exports(5).
type SquashFlag struct{ *Choice[nfsserver.Squash] }

// Set takes one of the words.
func (f SquashFlag) Set(s string) error {
	words := map[string]string{
		"root_squash": "root", "all_squash": "all", "no_root_squash": "none", "no_all_squash": "root",
	}
	if word := words[s]; word != "" {
		return fmt.Errorf("write --squash %s", word)
	}
	return f.Choice.Set(s)
}

// UserFlag is the number of a user.
type UserFlag uint32

// GroupFlag is the number of a group.
type GroupFlag uint32

// Set takes a number, or the name of a user of this host.
func (f *UserFlag) Set(s string) error {
	n, err := parseID(s, "user", users.Host().UserID)
	if err == nil {
		*f = UserFlag(n)
	}
	return err
}

// Set takes a number, or the name of a group of this host.
func (f *GroupFlag) Set(s string) error {
	n, err := parseID(s, "group", users.Host().GroupID)
	if err == nil {
		*f = GroupFlag(n)
	}
	return err
}

// ErrLookUp is in the error of a flag with a name that may be right: the user database fails.
var ErrLookUp = errors.New("cannot be looked up")

// parseID parses the number of a user or group, or looks up a name. It refuses 2^32-1, which is no
// ID on Linux.
func parseID(s, kind string, lookUp func(name string) (uint32, error)) (uint32, error) {
	if strings.Trim(s, "-+0123456789") == "" {
		n, err := strconv.ParseUint(s, 10, 32)
		if err != nil || n == math.MaxUint32 {
			return 0, errors.New("write a number from 0 to 4294967294, or a name of this host")
		}
		return uint32(n), nil
	}
	n, err := lookUp(s)
	switch {
	case errors.Is(err, users.ErrUnknown):
		return 0, fmt.Errorf("this host has no %s of that name: write a number, or a name that it has", kind)
	case err != nil:
		return 0, fmt.Errorf("the number of this %s %w: %w", kind, ErrLookUp, err)
	}
	return n, nil
}

// String returns the number.
func (f *UserFlag) String() string { return strconv.FormatUint(uint64(*f), 10) }

// String returns the number.
func (f *GroupFlag) String() string { return strconv.FormatUint(uint64(*f), 10) }

// Type names the value in the usage.
func (f *UserFlag) Type() string { return "ID" }

// Type names the value in the usage.
func (f *GroupFlag) Type() string { return "ID" }
