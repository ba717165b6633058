package users

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
	"unicode"
)

// Limits of look-ups by commands.
const (
	lookupLimit  = 30 * time.Second // then the command is killed
	maxProcesses = 2 * maxTurns     // commands at a time, for Groups and Principals; others wait
	maxOutput    = 4 << 20          // bytes; a group has a name for each member
	maxComplaint = 256              // bytes of the standard error that an error shows
)

// processes has an element for each command that runs.
var processes = make(chan struct{}, maxProcesses)

// commands asks getent(1) and id(1). These are the C library's look-ups, for builds of any kind.
type commands struct {
	getent, id string // their paths
	limit      time.Duration
}

func (c *commands) String() string { return "getent and id (/etc/nsswitch.conf)" }

func (c *commands) user(by key, value string) (a account, err error) {
	f, err := c.look("passwd", by, value, 5)
	if err != nil {
		return a, err
	}
	if by == byNumber && f[2] != value {
		return a, fmt.Errorf("getent passwd %s: got user %.32q", value, f[2])
	}
	return numbered(f[0], f[2], f[3])
}

func (c *commands) group(by key, value string) (a account, err error) {
	f, err := c.look("group", by, value, 4)
	if err != nil {
		return a, err
	}
	if by == byNumber && f[2] != value {
		return a, fmt.Errorf("getent group %s: got group %.32q", value, f[2])
	}
	return numbered(f[0], "0", f[2])
}

func (c *commands) groups(a account) ([]uint32, error) {
	who := a.name
	if !askable(who) {
		who = fmt.Sprintf("+%d", a.uid) // to GNU's id and FreeBSD's, a number in any case
	}
	out, err := c.run(c.id, "-G", who)
	if err != nil {
		return nil, err
	}
	ids := strings.Fields(out)
	if len(ids) == 0 {
		return nil, fmt.Errorf("id -G %s: no groups", who)
	}
	groups, err := withPrimary(a.gid, ids)
	if err != nil {
		return nil, fmt.Errorf("id -G %s: %w", who, err)
	}
	return groups, nil
}

// look returns the first fields of the entry in a database of getent.
func (c *commands) look(database string, by key, value string, fields int) ([]string, error) {
	if by == byName && !askable(value) {
		return nil, fmt.Errorf("%w (%.64q cannot be a name)", ErrUnknown, value)
	}
	out, err := c.run(c.getent, database, value)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 2 {
		return nil, fmt.Errorf("%w (getent %s %s)", ErrUnknown, database, value)
	}
	if err != nil {
		return nil, err
	}
	line, _, _ := strings.Cut(out, "\n")
	f := strings.SplitN(line, ":", fields)
	if len(f) < fields || f[0] == "" {
		return nil, fmt.Errorf("getent %s %s: malformed entry %.64q", database, value, line)
	}
	return f, nil
}

// askable reports whether a name can be asked for. Getent and id would take others for options or
// for numbers: strtoul(3) accepts spaces and a sign.
func askable(name string) bool {
	return strings.Trim(name, "0123456789 ") != "" && !strings.ContainsRune(" +-", rune(name[0])) &&
		!strings.Contains(name, ":") && !strings.ContainsFunc(name, unicode.IsControl)
}

// run runs a command and returns what it prints.
func (c *commands) run(path string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), c.limit)
	defer cancel()
	fail := func(err error) (string, error) {
		return "", fmt.Errorf("%s %s: %w", filepath.Base(path), strings.Join(args, " "), err)
	}
	select {
	case processes <- struct{}{}:
		defer func() { <-processes }()
	case <-ctx.Done():
		return fail(errSlow)
	}
	out, complaint := bounded{max: maxOutput}, bounded{max: maxComplaint}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = "/"
	cmd.Env = []string{"LC_ALL=C", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"}
	cmd.Stdout, cmd.Stderr = &out, &complaint
	cmd.WaitDelay = time.Second // for what the command has started
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return fail(errSlow)
	case out.over:
		return fail(fmt.Errorf("more than %d bytes", maxOutput))
	case err != nil && len(complaint.kept) > 0:
		return fail(fmt.Errorf("%w: %q", err, bytes.TrimSpace(complaint.kept)))
	case err != nil:
		return fail(err)
	}
	return string(out.kept), nil
}

// bounded keeps the first bytes that are written, and drops the others.
type bounded struct {
	kept []byte
	max  int
	over bool // some were dropped
}

// Write takes all of p.
func (b *bounded) Write(p []byte) (int, error) {
	n := min(len(p), b.max-len(b.kept))
	b.kept = append(b.kept, p[:n]...)
	b.over = b.over || n < len(p)
	return len(p), nil
}
