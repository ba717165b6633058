package cli

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
)

// SquashFlag is a choice that knows the words of exports(5).
type SquashFlag struct{ *Choice[nfsserver.Squash] }

// Set chooses.
func (f SquashFlag) Set(s string) error {
	words := map[string]string{"root_squash": "root", "all_squash": "all", "no_root_squash": "none", "no_all_squash": "root"}
	if word := words[s]; word != "" {
		return fmt.Errorf("write --squash %s", word)
	}
	return f.Choice.Set(s)
}

// UserFlag is the number of a user.
type UserFlag uint32

// GroupFlag is the number of a group.
type GroupFlag uint32

// Set takes a number.
func (f *UserFlag) Set(s string) error {
	n, err := ParseID(s)
	if err != nil {
		return fmt.Errorf("%w: 'id -u NAME' tells that of a user", err)
	}
	*f = UserFlag(n)
	return nil
}

// Set takes a number.
func (f *GroupFlag) Set(s string) error {
	n, err := ParseID(s)
	if err != nil {
		return fmt.Errorf("%w: 'getent group NAME' tells that of a group", err)
	}
	*f = GroupFlag(n)
	return nil
}

// ParseID parses a number of a user or group. The largest of 32 bits means nobody to Linux.
func ParseID(s string) (uint32, error) {
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil || n == math.MaxUint32 {
		return 0, errors.New("write a number from 0 to 4294967294")
	}
	return uint32(n), nil
}

// String returns the number.
func (f *UserFlag) String() string { return strconv.FormatUint(uint64(*f), 10) }

// String returns the number.
func (f *GroupFlag) String() string { return strconv.FormatUint(uint64(*f), 10) }

// Type names the value in the usage.
func (f *UserFlag) Type() string { return "ID" }

// Type names the value in the usage.
func (f *GroupFlag) Type() string { return "ID" }
