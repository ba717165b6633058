//go:build linux || darwin

package copying

import (
	"context"
	"io/fs"
	"path"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const openNonblocking = syscall.O_NONBLOCK

// localDetails returns what a copy may keep of a file.
func localDetails(info fs.FileInfo) details {
	d := details{name: info.Name(), mode: info.Mode(), size: info.Size(), uid: -1, gid: -1,
		atime: info.ModTime(), mtime: info.ModTime()}
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		d.uid, d.gid = int(s.Uid), int(s.Gid)
		d.atime, d.ctime = time.Unix(accessed(s).Unix()), time.Unix(changed(s).Unix())
	}
	return d
}

func (l *localDir) free(_ context.Context, name string) (int64, error) {
	dir, err := l.root.Open(name)
	if err != nil {
		return 0, l.about(name, err)
	}
	defer dir.Close()
	var s unix.Statfs_t
	if err := unix.Fstatfs(int(dir.Fd()), &s); err != nil {
		return 0, l.about(name, err)
	}
	return int64(s.Bavail) * int64(s.Bsize), nil
}

// hardLinked reports whether a file has more than one name.
func hardLinked(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && s.Nlink > 1
}

// linkTimes sets the times of a link itself.
func (l *localDir) linkTimes(name string, d details) error {
	dir, err := l.root.Open(path.Dir(name))
	if err != nil {
		return err
	}
	defer dir.Close()
	times := make([]unix.Timespec, 2)
	for i, t := range []time.Time{d.atime, d.mtime} {
		if times[i], err = unix.TimeToTimespec(t); err != nil {
			return err
		}
	}
	return unix.UtimesNanoAt(int(dir.Fd()), path.Base(name), times, unix.AT_SYMLINK_NOFOLLOW)
}
