package dirfs

import (
	"context"
	"math"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// SetAttr changes attributes.
func (fs *FS) SetAttr(
	_ context.Context, c *vfs.Cred, h nfs3.FH, set *nfs3.Sattr, guard *nfs3.Time,
) (nfs3.WccData, error) {
	f, err := fs.tree.hold(&h)
	if err != nil {
		return nfs3.WccData{}, err
	}
	defer f.release()
	wcc, err := f.step(func(a nfs3.Fattr) error {
		if guard != nil && *guard != a.Ctime {
			return nfs3.ErrNotSync
		}
		return f.set(c, &a, set)
	})
	if err == nil && *set != (nfs3.Sattr{}) {
		err = f.persist(wcc.After.Attr.Type)
	}
	return wcc, err
}

// set sets all attributes or none. f.n.mu is held.
func (f file) set(c *vfs.Cred, a *nfs3.Fattr, set *nfs3.Sattr) error {
	if err := f.maySet(c, a, set); err != nil || *set == (nfs3.Sattr{}) {
		return err
	}
	h := &f.t.host
	uid, gid, mode := a.UID, a.GID, vfs.PermOf(a).ModeSet(c, set)
	if set.UID.Set {
		uid = set.UID.To
	}
	if set.GID.Set {
		gid = set.GID.To
	}
	given := uid != a.UID || gid != a.GID || h.super && (set.UID.Set || set.GID.Set)
	fd := f.path.fd
	if given {
		if err := h.chown(fd, uid, gid); err != nil {
			return h.status("chown", err)
		}
	}
	if set.Size.Set {
		if err := f.truncate(set.Size.To); err != nil {
			if given {
				_ = chown(fd, a.UID, a.GID) // as it was before
				_ = chmod(fd, a.Mode)
			}
			return h.status("truncate", err)
		}
	}
	// Changing the owner may have cleared bits.
	taken := given && mode&(nfs3.ModeSetUID|nfs3.ModeSetGID) != 0
	if a.Type != nfs3.TypeLnk && (set.Mode.Set || mode != a.Mode || taken) {
		if err := chmod(fd, mode); err != nil {
			return h.status("chmod", err)
		}
	}
	return h.status("utimes", setTimes(fd, set.Atime, set.Mtime))
}

// maySet checks whether c may set the attributes.
func (f file) maySet(c *vfs.Cred, a *nfs3.Fattr, set *nfs3.Sattr) error {
	if err := f.perm(c, a).CheckSetAttr(c, set); err != nil {
		return err
	}
	if set.UID.Set && set.UID.To == noID || set.GID.Set && set.GID.To == noID {
		return nfs3.ErrInval
	}
	if set.Size.Set && set.Size.To > f.t.host.maxSize {
		return nfs3.ErrFBig
	}
	if !f.t.host.super && set.UID.Set && set.UID.To != a.UID {
		return nfs3.ErrPerm
	}
	return nil
}

func (f file) truncate(size uint64) error {
	d, err := f.open(true)
	if err != nil {
		return err
	}
	defer d.release()
	return again(func() error { return unix.Ftruncate(d.fd, int64(size)) })
}

// noID is no user and no group: chown(2) leaves those unchanged.
const noID = math.MaxUint32

func chown(fd int, uid, gid uint32) error {
	return again(func() error {
		return unix.Fchownat(fd, "", int(uid), int(gid), unix.AT_EMPTY_PATH)
	})
}

// chown sets owner and group of a file. In a container they may have no number.
func (h *host) chown(fd int, uid, gid uint32) error {
	err := chown(fd, uid, gid)
	if err != unix.EINVAL {
		return err
	}
	h.unmapped.Do(func() {
		h.logger.Error("files cannot be given to all users: the user namespace of the server has no "+
			"number for some; map their IDs into it, or squash all users to one that it has",
			"path", h.path, "uid", uid, "gid", gid)
	})
	return nfs3.ErrPerm
}

func chmod(fd int, mode uint32) error {
	return again(func() error { return unix.Fchmodat(unix.AT_FDCWD, procPath(fd), mode, 0) })
}

// setTimes sets both times of a file in one step.
func setTimes(fd int, atime, mtime nfs3.SetTime) error {
	if atime.How == nfs3.DontChange && mtime.How == nfs3.DontChange {
		return nil
	}
	ts := []unix.Timespec{timespec(atime), timespec(mtime)}
	return again(func() error { return unix.UtimesNanoAt(fd, "", ts, unix.AT_EMPTY_PATH) })
}

func timespec(t nfs3.SetTime) unix.Timespec {
	switch t.How {
	case nfs3.ToClientTime:
		return unix.NsecToTimespec(t.To.Nanos())
	case nfs3.ToServerTime:
		return unix.Timespec{Nsec: unix.UTIME_NOW}
	}
	return unix.Timespec{Nsec: unix.UTIME_OMIT}
}
