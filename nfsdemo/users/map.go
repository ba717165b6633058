package users

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// Map assigns users to principals of any form and realm.
type Map struct{ users map[string]target }

// target is a user.
type target struct {
	cred *vfs.Cred // nil: look up name
	name string
	line int
}

// MapError is an error in a line of a map.
type MapError struct {
	Line int
	Err  error
}

// Error returns the line number and the error.
func (e *MapError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns the error in the line.
func (e *MapError) Unwrap() error { return e.Err }

// maxLine is the longest line in bytes. It has room for 65536 groups.
const maxLine = 1 << 20

// ParseMap reads a map. Each line has a principal and a user. The user is a name in the user
// database, or UID:GID, or UID:GID:GROUP,... with further groups. A comment begins with #.
//
//	nfs/build.example.org@EXAMPLE.ORG   build           # with the groups of build
//	alice@OTHER.EXAMPLE                 1001:100
//	bob/admin@EXAMPLE.ORG               1002:100:10,27  # with the groups 100, 10 and 27
//
// The error is a *MapError, which may wrap an error of r.
func ParseMap(r io.Reader) (*Map, error) {
	m := &Map{users: make(map[string]target)}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	number := 0
	for lines.Scan() {
		number++
		line, _, _ := strings.Cut(lines.Text(), "#")
		if words := strings.Fields(line); len(words) > 0 {
			if err := m.add(words, number); err != nil {
				return nil, &MapError{number, err}
			}
		}
	}
	if err := lines.Err(); err != nil {
		return nil, &MapError{number + 1, err}
	}
	return m, nil
}

// Check looks up all users that the map names. Its error joins a *MapError for each user that the
// database does not have, or cannot look up just now.
func (m *Map) Check(db Database) error {
	var wrong []*MapError
	for principal, to := range m.users {
		if to.cred != nil {
			continue
		}
		if _, err := db.User(to.name); err != nil {
			wrong = append(wrong, &MapError{to.line, fmt.Errorf("%s: %w", principal, err)})
		}
	}
	slices.SortFunc(wrong, func(a, b *MapError) int { return a.Line - b.Line })
	var all error
	for _, e := range wrong {
		all = errors.Join(all, e)
	}
	return all
}

// add adds a line.
func (m *Map) add(words []string, line int) error {
	principal := words[0]
	switch _, known := m.users[principal]; {
	case len(words) != 2:
		return fmt.Errorf("write a principal and a user: %d words", len(words))
	case !strings.Contains(principal, "@") || len(principal) > maxPrincipal:
		return fmt.Errorf("%.64q is not a principal: write user@REALM", principal)
	case known:
		return fmt.Errorf("%s is there twice", principal)
	}
	to, err := parseTarget(words[1])
	if err != nil {
		return err
	}
	to.line = line
	m.users[principal] = to
	return nil
}

// parseTarget parses a name, or UID:GID, or UID:GID:GID,...
func parseTarget(s string) (target, error) {
	if _, err := parseID(s); err == nil {
		return target{}, fmt.Errorf("user %s has no group: write %s:GID", s, s)
	}
	if !strings.Contains(s, ":") {
		if !plain(s, "") {
			return target{}, fmt.Errorf("%.64q is not the name of a user", s)
		}
		return target{name: s}, nil
	}
	parts := strings.SplitN(s, ":", 3)
	uid, err := parseID(parts[0])
	if err != nil {
		return target{}, fmt.Errorf("user %w", err)
	}
	gid, err := parseID(parts[1])
	if err != nil {
		return target{}, fmt.Errorf("group %w", err)
	}
	c := &vfs.Cred{UID: uid, GID: gid}
	if len(parts) == 3 {
		for g := range strings.SplitSeq(parts[2], ",") {
			n, err := parseID(g)
			if err != nil {
				return target{}, fmt.Errorf("group %w", err)
			}
			c.GIDs = append(c.GIDs, n)
		}
	}
	return target{cred: c}, nil
}
