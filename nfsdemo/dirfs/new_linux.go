package dirfs

import (
	"fmt"
	"path/filepath"
	"weak"
)

// New returns the file system of a directory. It fails if the directory is missing, if the state
// directory belongs to another directory or is unsafe, or if another server uses it. It needs Linux
// 5.8 or later, with /proc.
func New(cfg Config) (*FS, error) { return newFS(cfg, defaultLimits()) }

func newFS(cfg Config, lim limits) (*FS, error) {
	path, err := filepath.Abs(cfg.Path)
	if err != nil {
		return nil, fmt.Errorf("dirfs: %s: %w", cfg.Path, err)
	}
	fs := &FS{
		tree: tree{
			host:  newHost(path, cfg.Logger),
			nodes: nodes{byID: make(map[fileID]weak.Pointer[node])},
		},
		stop: make(chan struct{}),
	}
	t := &fs.tree
	fd, err := t.host.open()
	if err != nil {
		return nil, fmt.Errorf("dirfs: %s: %w", path, err)
	}
	t.descs = newDescs(fd, lim)
	t.descs.register()
	id, err := fs.openState(&cfg)
	if err == nil {
		t.sealer = id.sealer()
		err = fs.openFiles(&cfg)
	}
	if err != nil {
		fs.Close()
		return nil, err
	}
	fs.sweeping.Go(func() { t.sweepUntil(fs.stop) })
	return fs, nil
}

// openState reads the identity in the state directory, or makes one.
func (fs *FS) openState(cfg *Config) (id identity, err error) {
	h, dir := &fs.tree.host, cfg.State
	root := h.keyOf(&h.root)
	if dir == "" {
		return newIdentity(h.path, root), nil
	}
	inside, err := below(dir, &h.root)
	if err != nil {
		return id, fmt.Errorf("dirfs: state: %w", err)
	}
	if inside {
		return id, fmt.Errorf("dirfs: state %s lies in %s, where clients could read it", dir, h.path)
	}
	if fs.lock, err = lockState(dir); err != nil {
		return id, err
	}
	return loadIdentity(dir, h.path, root, h.logger)
}

// openFiles decides how files are found. If kernel handles work, it uses names from an earlier time
// besides.
func (fs *FS) openFiles(cfg *Config) error {
	t := &fs.tree
	var k *byKernel
	if !cfg.ByName {
		k = newByKernel(t)
	}
	var s *byName
	if k == nil || hasNames(cfg.State) {
		n, err := openNames(cfg.State, defaultMaxNames, t.host.logger)
		if err != nil {
			if k != nil {
				_ = k.close()
			}
			return fmt.Errorf("dirfs: state is not readable and writable: %w", err)
		}
		s = newByName(t, n)
	}
	if k != nil {
		k.former, t.files = s, k
	} else {
		t.files = s
	}
	st := t.host.root
	id, err := t.files.identify(t.descs.root.fd, &noName[0], &st)
	if err != nil {
		return fmt.Errorf("dirfs: %s: %w", t.host.path, err)
	}
	t.root = t.nodeOf(&id)
	t.descs.root.node = t.root
	return nil
}
