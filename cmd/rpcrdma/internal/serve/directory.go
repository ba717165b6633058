package serve

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"runtime"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/dirfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// openDirectory opens a directory of this host as a file system.
func openDirectory(e Export, all []Export, cfg *Config, log *slog.Logger) (vfs.FS, error) {
	if err := checkDirectory(e.Dir, runtime.GOOS); err != nil {
		return nil, directoryError(e, err, os.Geteuid())
	}
	state, err := makeState(cfg, e.Name, all)
	if err != nil {
		return nil, fmt.Errorf("--state %s: %w", cli.Printable(cfg.state), err)
	}
	fs, err := dirfs.New(dirfs.Config{Path: e.Dir, State: state, Logger: log})
	if err != nil {
		if state != "" && canOpen(e.Dir) {
			return nil, fmt.Errorf("--state %s: %w; name another --state, and have clients mount again",
				cli.Printable(cfg.state), err)
		}
		return nil, directoryError(e, err, os.Geteuid())
	}
	return fs, nil
}

// errNoDirectories is returned on systems that dirfs does not support.
var errNoDirectories = errors.New("--export needs Linux: use --memory NAME instead")

// checkDirectory checks that a directory can be exported on a system.
func checkDirectory(dir, system string) error {
	if system != "linux" {
		return errNoDirectories
	}
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

// directoryError says why user uid cannot export a directory, and what to do about it.
func directoryError(e Export, err error, uid int) error {
	if errors.Is(err, errNoDirectories) {
		return err
	}
	if errors.Is(err, fs.ErrPermission) {
		err = fmt.Errorf("%w: user %d, who runs serve, may not enter it: grant access, or run serve as root", err, uid)
	}
	return fmt.Errorf("--export %s=%s: %w", cli.Printable(e.Name), cli.Printable(e.Dir), err)
}

// canOpen reports whether a directory can be opened as a file system, without state.
func canOpen(dir string) bool {
	fs, err := dirfs.New(dirfs.Config{Path: dir})
	return err == nil && fs.Close() == nil
}
