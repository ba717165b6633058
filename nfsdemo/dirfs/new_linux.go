package dirfs

import (
	"fmt"
	"math"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// limits are how many descriptors are kept open.
type limits struct{ paths, data int }

// defaultLimits leaves most descriptors to others, file systems like this one among them.
func defaultLimits() limits {
	l := limits{paths: 4096, data: 1024}
	var r unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &r); err == nil {
		part := int(min(r.Cur/8, math.MaxInt32))
		l.paths, l.data = max(16, min(l.paths, part)), max(16, min(l.data, part))
	}
	return l
}

// New returns the file system of a directory. It needs Linux 5.8 or later, with /proc. It is an
// error if the directory is missing, or if the state is another directory's, or in use by another
// server.
func New(cfg Config) (*FS, error) { return newFS(cfg, defaultLimits()) }

func newFS(cfg Config, lim limits) (*FS, error) {
	path, err := filepath.Abs(cfg.Path)
	if err != nil {
		return nil, fmt.Errorf("dirfs: %s: %w", cfg.Path, err)
	}
	fs := &FS{
		tree: tree{
			host:  newHost(path, cfg.Logger),
			table: table{nodes: make(map[key]*node), gone: make(map[key]struct{})},
		},
		stop: make(chan struct{}),
	}
	t := &fs.tree
	fd, err := t.host.open()
	if err != nil {
		return nil, fmt.Errorf("dirfs: %s: %w", path, err)
	}
	t.descs = newDescs(fd, lim)
	t.table.root = keyOf(&t.host.root)
	if err := fs.openState(cfg.State); err != nil {
		fs.Close()
		return nil, err
	}
	t.root = t.table.add(t.table.root)
	t.root.hints = nil
	t.descs.root.node = t.root
	fs.sweeping.Go(func() { t.sweepUntil(fs.stop) })
	return fs, nil
}

// openState takes ID, key and names of files from a directory, or new ones if dir is "".
func (fs *FS) openState(dir string) error {
	h, table := &fs.tree.host, &fs.tree.table
	if dir == "" {
		table.sealer.init(newIdentity(h.path, table.root))
		return nil
	}
	inside, err := below(dir, &h.root)
	if err != nil {
		return fmt.Errorf("dirfs: state: %w", err)
	}
	if inside {
		return fmt.Errorf("dirfs: state %s lies in %s, where clients could read it", dir, h.path)
	}
	if fs.lock, err = lockState(dir); err != nil {
		return err
	}
	id, err := loadIdentity(dir, h.path, table.root)
	if err != nil {
		return err
	}
	table.sealer.init(id)
	return table.openLog(&hintLog{logger: h.logger, path: filepath.Join(dir, hintsFile)})
}
