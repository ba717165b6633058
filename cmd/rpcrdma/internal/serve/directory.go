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

// openDirectory makes a file system of a directory of this host.
func openDirectory(e Export, all []Export, cfg *Config, log *slog.Logger) (vfs.FS, error) {
	if err := checkDirectory(e.Dir, runtime.GOOS); err != nil {
		return nil, directoryError(e, err, os.Geteuid())
	}
	state, err := makeState(cfg, e.Name, all)
	if err != nil {
		return nil, fmt.Errorf("--state %s: %w", cli.Printable(cfg.state), err)
	}
	fs, err := dirfs.New(dirfs.Config{Path: e.Dir, State: state, Logger: log,
		NewKey: cfg.newKey})
	if err != nil {
		if state != "" && canOpen(e.Dir) {
			return nil, fmt.Errorf("--state %s: %w; name another --state: clients have to mount again then", cli.Printable(cfg.state), err)
		}
		return nil, directoryError(e, err, os.Geteuid())
	}
	return fs, nil
}

// errNoDirectories: there is no file system of a directory on this system.
var errNoDirectories = errors.New("--export needs Linux: serve --memory NAME instead")

// checkDirectory says what is wrong with a directory to export on a system.
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

// directoryError says that a directory cannot be exported by a user, and what to do about it.
func directoryError(e Export, err error, uid int) error {
	if errors.Is(err, errNoDirectories) {
		return err
	}
	if errors.Is(err, fs.ErrPermission) {
		err = fmt.Errorf("%w: user %d, who serves, may not enter it: give the rights, or serve as root", err, uid)
	}
	return fmt.Errorf("--export %s=%s: %w", cli.Printable(e.Name), cli.Printable(e.Dir), err)
}

// canOpen reports whether there can be a file system of a directory, without state.
func canOpen(dir string) bool {
	fs, err := dirfs.New(dirfs.Config{Path: dir})
	return err == nil && fs.Close() == nil
}
