package serve

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
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

// makeState returns the directory for the state of an export, "" for none, which it makes if need
// be.
func makeState(cfg *Config, name string, all []Export) (string, error) {
	if cfg.state == "" {
		return "", nil
	}
	// Escaped, a name is one element of a path, and neither "." nor "..": all of them begin with a
	// slash.
	dir := filepath.Join(cfg.state, url.PathEscape(name))
	err := checkState(cfg.state, all)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	return dir, stateError(err, os.Geteuid())
}

// stateError says what to do about an error of making state for a user.
func stateError(err error, uid int) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w: user %d, who serves, may not make it: name another --state, or serve as root", err, uid)
	}
	return err
}

// checkState refuses state that clients could read: who has the keys can make handles of files that
// are none of his business.
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

// within reports whether a file is a directory, or lies in or below it. Both are resolved.
func within(name, dir string) bool {
	rel, err := filepath.Rel(dir, name)
	return err == nil && filepath.IsLocal(rel)
}

// resolve returns the absolute path of a file, without symbolic links, as far as it exists.
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
