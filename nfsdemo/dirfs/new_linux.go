package dirfs

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
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

// New returns the file system of a directory. It needs Linux 5.8 or later, with /proc. It is an error if the directory is missing,
// or if the state is another directory's, or in use by another server.
func New(cfg Config) (*FS, error) { return newFS(cfg, defaultLimits()) }

func newFS(cfg Config, lim limits) (*FS, error) {
	path, err := filepath.Abs(cfg.Path)
	if err != nil {
		return nil, fmt.Errorf("dirfs: %s: %w", cfg.Path, err)
	}
	cfg.Path = path
	fs := &FS{
		config: cfg,
		logger: cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler)),
		super:  os.Geteuid() == 0,
		uid:    uint32(os.Geteuid()),
		gid:    uint32(os.Getegid()),
		table:  table{nodes: make(map[key]*node), gone: make(map[key]struct{})},
		paths:  descCache{max: lim.paths, byNode: make(map[*node]*desc)},
		data:   descCache{max: lim.data, byNode: make(map[*node]*desc)},
		stop:   make(chan struct{}),
	}
	if err := fs.openRoot(); err != nil {
		return nil, fmt.Errorf("dirfs: %s: %w", path, err)
	}
	if err := fs.openState(); err != nil {
		fs.Close()
		return nil, err
	}
	k := keyOf(&fs.rootStat)
	fs.root = fs.table.add(k, fs.sealer.mac(fs.id, k))
	fs.root.hints = nil
	fs.rootPath.node = fs.root
	fs.sweeping.Go(func() { fs.sweepUntil(fs.stop) })
	return fs, nil
}

func (fs *FS) openRoot() error {
	fd, err := unix.Open(fs.config.Path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	fs.rootPath = &desc{cache: new(descCache), fd: fd, refs: 1}
	err = fs.checkRoot()
	if err != nil {
		unix.Close(fd)
	}
	return err
}

// checkRoot finds out about the file system that the root is on.
func (fs *FS) checkRoot() error {
	fd := fs.rootPath.fd
	if err := statFD(fd, &fs.rootStat); err != nil {
		return fmt.Errorf("statx: %w", err)
	}
	if fs.rootStat.Mode&unix.S_IFMT != unix.S_IFDIR {
		return unix.ENOTDIR
	}
	self, err := openPath(fd, ".")
	if err != nil {
		return fmt.Errorf("openat2: %w", err)
	}
	unix.Close(self)
	list, err := reopen(fd, unix.O_RDONLY|unix.O_DIRECTORY)
	if errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("/proc is not mounted: %w", err)
	}
	if err != nil {
		return err
	}
	unix.Close(list)
	var s unix.Statfs_t
	if err := unix.Fstatfs(fd, &s); err != nil {
		return fmt.Errorf("fstatfs: %w", err)
	}
	fs.linkMax = linkMax(int64(s.Type))
	fs.table.root = keyOf(&fs.rootStat)
	fs.maxSize, fs.timeStep = measure(fd)
	return nil
}

func (fs *FS) openState() error {
	root := keyOf(&fs.rootStat)
	id := newIdentity(fs.config.Path, root)
	if dir := fs.config.State; dir != "" {
		inside, err := below(dir, &fs.rootStat)
		if err != nil {
			return fmt.Errorf("dirfs: state: %w", err)
		}
		if inside {
			return fmt.Errorf("dirfs: state %s lies in %s, where clients could read it", dir, fs.config.Path)
		}
		if fs.lock, err = lockState(dir); err != nil {
			return err
		}
		if id, err = loadIdentity(dir, fs.config.Path, root); err != nil {
			return err
		}
	}
	fs.id = id.ID
	fs.sealer.key(id.Key)
	if dir := fs.config.State; dir != "" {
		l := &hintLog{logger: fs.logger, path: filepath.Join(dir, hintsFile)}
		return fs.table.openHints(l, &fs.sealer, fs.id)
	}
	return nil
}
