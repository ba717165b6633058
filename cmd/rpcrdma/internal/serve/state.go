package serve

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/dirfs"
)

// stateFlag is the directory for state.
type stateFlag string

// Set takes a directory.
func (f *stateFlag) Set(s string) error {
	if s == "" {
		return errors.New("write a directory, such as /var/lib/rpcrdma, or leave --state out")
	}
	*f = stateFlag(s)
	return nil
}

// String returns the directory.
func (f *stateFlag) String() string { return string(*f) }

// Type names the value in the usage.
func (f *stateFlag) Type() string { return "DIR" }

// statePrefix is what the names of exports begin with: a slash.
const statePrefix = "%2F"

// makeState returns the directory for the state of an export, and creates it if necessary. Without
// --state it returns "".
func makeState(cfg *Config, name string, all []Export) (string, error) {
	if cfg.state == "" {
		return "", nil
	}
	// An escaped name is one element of a path, and begins with statePrefix.
	dir := filepath.Join(cfg.state, url.PathEscape(name))
	err := checkState(cfg.state, all)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	return dir, stateError(err, os.Geteuid())
}

// changeKeys does what --new-key and --revoke-keys say, for all exports that have state, also for
// those that are not exported now: they may be later.
func (c *Config) changeKeys(log *slog.Logger) error {
	if !c.newKey && !c.revokeKeys {
		return nil
	}
	change := dirfs.NewKey
	if c.revokeKeys {
		change = dirfs.RevokeKeys
	}
	all, err := os.ReadDir(c.state)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range all {
		if strings.HasPrefix(e.Name(), statePrefix) { // it may be a link
			err = errors.Join(err, change(filepath.Join(c.state, e.Name())))
		}
	}
	if err != nil {
		return fmt.Errorf("--state %s: %w", cli.Printable(c.state), err)
	}
	if c.revokeKeys {
		log.Warn("the keys of file handles are revoked: clients must mount again", "state", c.state)
	}
	return nil
}

// stateError says what to do if user uid may not create the state directory.
func stateError(err error, uid int) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w: user %d, who runs serve, may not create it: name another --state, or run serve as root",
			err, uid)
	}
	return err
}

// checkState refuses a state directory that clients could read: with the keys in it they could
// forge file handles.
func checkState(dir string, all []Export) error {
	state, err := resolve(dir)
	if err != nil {
		return err
	}
	for _, e := range all {
		if e.Dir == "" {
			continue
		}
		dir, err := resolve(e.Dir)
		if err != nil {
			return err
		}
		if within(state, dir) {
			return fmt.Errorf("it lies within %s, which is exported as %s: choose a place that clients cannot read",
				cli.Printable(e.Dir), cli.Printable(e.Name))
		}
	}
	return nil
}

// within reports whether name is dir, or lies below it. Both must be resolved.
func within(name, dir string) bool {
	rel, err := filepath.Rel(dir, name)
	return err == nil && filepath.IsLocal(rel)
}

// resolve returns the absolute path of a file, and resolves the symbolic links in the part that
// exists.
func resolve(name string) (string, error) {
	name, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	rest := ""
	for {
		real, err := filepath.EvalSymlinks(name)
		if err == nil {
			return filepath.Join(real, rest), nil
		}
		parent := filepath.Dir(name)
		if !errors.Is(err, fs.ErrNotExist) || parent == name {
			return "", err
		}
		name, rest = parent, filepath.Join(filepath.Base(name), rest)
	}
}
