package dirfs

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// host has the properties of the served directory and its file system. They do not change.
type host struct {
	path   string // of the directory
	logger *slog.Logger
	root   unix.Statx_t

	// super: the process may give files away, and read files that it does not own.
	super    bool
	uid, gid uint32 // of the process

	maxSize  uint64
	timeStep nfs3.Time
	linkMax  uint32

	mounted  mounted
	unmapped sync.Once // logs a user that the container does not map

	layered bool // an overlay, whose files may have the device numbers of their layers
}

func newHost(path string, logger *slog.Logger) host {
	return host{
		path:   path,
		logger: cmp.Or(logger, slog.New(slog.DiscardHandler)),
		super:  os.Geteuid() == 0,
		uid:    uint32(os.Geteuid()),
		gid:    uint32(os.Getegid()),
	}
}

// open opens the root, as a path, and finds out about the file system that it is on.
func (h *host) open() (int, error) {
	fd, err := unix.Open(h.path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	if err := h.check(fd); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

func (h *host) check(fd int) error {
	if err := statFD(fd, &h.root); err != nil {
		return fmt.Errorf("statx: %w", err)
	}
	if h.root.Mode&unix.S_IFMT != unix.S_IFDIR {
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
	h.linkMax = linkMax(int64(s.Type))
	h.layered = s.Type == unix.OVERLAYFS_SUPER_MAGIC
	h.maxSize, h.timeStep = measure(fd)
	return nil
}

// own reports whether a file is on the file system of the root directory, not on one that is
// mounted below or in another subvolume.
func (h *host) own(st *unix.Statx_t) bool {
	if st.Mask&unix.STATX_MNT_ID != 0 && st.Mnt_id != h.root.Mnt_id {
		return false
	}
	return h.layered || h.onDevice(st)
}

// onDevice reports whether a file has the device number of the root directory.
func (h *host) onDevice(st *unix.Statx_t) bool {
	return st.Dev_major == h.root.Dev_major && st.Dev_minor == h.root.Dev_minor
}

// freshFor is for how many seconds a file counts as new.
const freshFor = 10

// fresh reports whether a file looks like one that the process has just made. It belongs to the
// process, has one name, is closed to everybody else, and is not older than the last change of the
// directory. Somebody on the host may have put another file in its place, such as a hard link to
// somebody else's file, which must not be given to the client.
func (h *host) fresh(st, dir *unix.Statx_t) bool {
	if st.Mask&unix.STATX_BTIME != 0 && dir.Ctime.Sec-st.Btime.Sec > freshFor {
		return false
	}
	links, mode := uint32(1), uint32(st.Mode)
	switch mode & unix.S_IFMT {
	case unix.S_IFDIR:
		links = 2 // or 1, on file systems that do not count them
	case unix.S_IFLNK:
		mode = 0 // the mode of a link means nothing
	}
	return st.Uid == h.uid && st.Nlink <= links && mode&0o077 == 0 && h.own(st)
}
