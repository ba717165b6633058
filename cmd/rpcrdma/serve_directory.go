package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/dirfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// openDirectory makes a file system of a directory of this host.
func (x *exports) openDirectory(e export, cfg *serveConfig, log *slog.Logger) (vfs.FS, error) {
	if err := checkDirectory(e.dir); err != nil {
		return nil, fmt.Errorf("--export %s=%s: %w", printable(e.name), printable(e.dir), err)
	}
	state, err := makeState(cfg, e.name)
	if err != nil {
		return nil, fmt.Errorf("--state %s: %w", printable(cfg.state), err)
	}
	fs, err := dirfs.New(dirfs.Config{Path: e.dir, State: state, Logger: log})
	if err != nil {
		return nil, fmt.Errorf("--export %s=%s: %w", printable(e.name), printable(e.dir), err)
	}
	x.open = append(x.open, fs)
	return fs, nil
}

// checkDirectory says what is wrong with a directory to export.
func checkDirectory(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("there is no such directory: make it, or name another")
	case err != nil:
		if e := (*fs.PathError)(nil); errors.As(err, &e) {
			err = e.Err // the caller names the directory
		}
		return err
	case !info.IsDir():
		return errors.New("it is not a directory: only directories can be exported")
	}
	return nil
}

// makeState returns the directory for the state of an export, "" for none, which it makes if need be.
func makeState(cfg *serveConfig, name string) (string, error) {
	if cfg.state == "" {
		return "", nil
	}
	if err := cfg.checkState(); err != nil {
		return "", err
	}
	// Escaped, a name is one element of a path, and neither "." nor "..": all of them begin with a slash.
	dir := filepath.Join(cfg.state, url.PathEscape(name))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	return dir, nil
}

// checkState refuses state that clients could read: who has the keys can make handles of files that are none of his business.
func (c *serveConfig) checkState() error {
	state, err := resolve(c.state)
	if err != nil {
		return err
	}
	for _, e := range c.exports {
		if e.dir == "" {
			continue
		}
		dir, err := resolve(e.dir)
		if err != nil {
			return err
		}
		if rel, err := filepath.Rel(dir, state); err == nil && filepath.IsLocal(rel) {
			return fmt.Errorf("it lies within %s, which is exported as %s: choose a place that clients cannot read",
				printable(e.dir), printable(e.name))
		}
	}
	return nil
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
