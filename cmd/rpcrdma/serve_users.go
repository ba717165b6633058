package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
)

// squashFlag is a choice that knows the words of exports(5).
type squashFlag struct{ *choice[nfsserver.Squash] }

// Set chooses.
func (f squashFlag) Set(s string) error {
	words := map[string]string{"root_squash": "root", "all_squash": "all", "no_root_squash": "none", "no_all_squash": "root"}
	if word := words[s]; word != "" {
		return fmt.Errorf("write --squash %s", word)
	}
	return f.choice.Set(s)
}

// userFlag is the number of a user, and groupFlag that of a group.
type (
	userFlag  uint32
	groupFlag uint32
)

// Set takes a number.
func (f *userFlag) Set(s string) error {
	n, err := parseID(s)
	if err != nil {
		return fmt.Errorf("%w: 'id -u NAME' tells that of a user", err)
	}
	*f = userFlag(n)
	return nil
}

// Set takes a number.
func (f *groupFlag) Set(s string) error {
	n, err := parseID(s)
	if err != nil {
		return fmt.Errorf("%w: 'getent group NAME' tells that of a group", err)
	}
	*f = groupFlag(n)
	return nil
}

// parseID parses a number of a user or group. The largest of 32 bits means nobody to Linux.
func parseID(s string) (uint32, error) {
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil || n == math.MaxUint32 {
		return 0, errors.New("write a number from 0 to 4294967294")
	}
	return uint32(n), nil
}

// String returns the number.
func (f *userFlag) String() string { return strconv.FormatUint(uint64(*f), 10) }

// String returns the number.
func (f *groupFlag) String() string { return strconv.FormatUint(uint64(*f), 10) }

// Type names the value in the usage.
func (f *userFlag) Type() string { return "ID" }

// Type names the value in the usage.
func (f *groupFlag) Type() string { return "ID" }
