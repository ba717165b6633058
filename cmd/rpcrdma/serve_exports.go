package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/memfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// rootMode is that of the root directories of file systems in memory: like /tmp. There is nobody on
// this host who could hand out directories in them.
const rootMode = 0o1777

// exports is the exports and what they have open.
type exports struct {
	list []nfsserver.Export
	open []io.Closer
}

// openExports makes the file systems.
func openExports(cfg *serveConfig, log *slog.Logger) (_ *exports, err error) {
	x := new(exports)
	defer func() {
		if err != nil {
			err = errors.Join(err, x.close())
		}
	}()
	for _, e := range cfg.exports {
		var fs vfs.FS
		if e.dir == "" {
			fs, err = openMemory(cfg)
		} else {
			fs, err = x.openDirectory(e, cfg, log)
		}
		if err != nil {
			return nil, err
		}
		x.list = append(x.list, nfsserver.Export{
			Path:     e.name,
			FS:       fs,
			ReadOnly: cfg.readOnly,
			Clients:  cfg.allow,
			Squash:   cfg.squash.value,
			Anon:     &vfs.Cred{UID: cfg.anonUID, GID: cfg.anonGID},
		})
	}
	return x, nil
}

// close closes the file systems.
func (x *exports) close() error {
	var err error
	for _, c := range x.open {
		err = errors.Join(err, c.Close())
	}
	return err
}

func openMemory(cfg *serveConfig) (vfs.FS, error) {
	fs, err := memfs.New(memfs.Config{Capacity: int64(cfg.memorySize), RootMode: rootMode})
	if err != nil {
		return nil, fmt.Errorf("--memory-size %v: %w", &cfg.memorySize, err)
	}
	return fs, nil
}
