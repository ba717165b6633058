package dirfs

import (
	"context"
	"math"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// SetAttr changes attributes.
func (fs *FS) SetAttr(_ context.Context, c *vfs.Cred, h nfs3.FH, set *nfs3.Sattr, guard *nfs3.Time) (nfs3.WccData, error) {
	f, err := fs.hold(&h)
	if err != nil {
		return nfs3.WccData{}, err
	}
	defer f.release()
	wcc, changed, err := fs.setAttr(c, f, set, guard)
	if err == nil && changed {
		err = fs.persist(f, wcc.After.Attr.Type)
	}
	return wcc, err
}

// setAttr is SetAttr without bringing what was changed to stable storage.
func (fs *FS) setAttr(c *vfs.Cred, f file, set *nfs3.Sattr, guard *nfs3.Time) (wcc nfs3.WccData, changed bool, err error) {
	f.n.mu.Lock()
	defer f.n.mu.Unlock()
	a, err := fs.attr(f)
	if err != nil {
		return wcc, false, err
	}
	wcc.Before = a.Pre()
	if guard != nil && *guard != a.Ctime {
		err = nfs3.ErrNotSync
	} else if err = fs.mayChange(c, f, &a, set); err == nil && *set != (nfs3.Sattr{}) {
		changed = true
		err = fs.change(c, f, &a, set)
	}
	wcc.After = fs.post(f)
	return wcc, changed, err
}

// mayChange says what of set cannot be done.
func (fs *FS) mayChange(c *vfs.Cred, f file, a *nfs3.Fattr, set *nfs3.Sattr) error {
	if err := fs.perm(c, f, a).CheckSetAttr(c, set); err != nil {
		return err
	}
	if set.UID.Set && set.UID.To == noID || set.GID.Set && set.GID.To == noID {
		return nfs3.ErrInval
	}
	if set.Size.Set && set.Size.To > fs.maxSize {
		return nfs3.ErrFBig
	}
	if !fs.super && set.UID.Set && set.UID.To != a.UID {
		return nfs3.ErrPerm
	}
	return nil
}

// change sets attributes, all or none; f.n.mu is held.
func (fs *FS) change(c *vfs.Cred, f file, a *nfs3.Fattr, set *nfs3.Sattr) error {
	uid, gid, mode := a.UID, a.GID, a.Mode
	if set.UID.Set {
		uid = set.UID.To
	}
	if set.GID.Set {
		gid = set.GID.To
	}
	given := uid != a.UID || gid != a.GID || fs.super && (set.UID.Set || set.GID.Set)
	switch {
	case set.Mode.Set:
		mode = modeFor(c, a.Type, set.Mode.To, gid)
	case given, set.Size.Set && c.UID != 0:
		mode = dropSetID(a.Type, mode)
	}
	fd := f.path.fd
	if given {
		if err := chown(fd, uid, gid); err != nil {
			return fs.status("chown", err)
		}
	}
	if set.Size.Set {
		if err := fs.truncate(f, set.Size.To); err != nil {
			if given {
				_ = chown(fd, a.UID, a.GID) // as it was before
				_ = chmod(fd, a.Mode)
			}
			return fs.status("truncate", err)
		}
	}
	// Giving a file away may have taken bits.
	if a.Type != nfs3.TypeLnk && (set.Mode.Set || mode != a.Mode || given && mode&(nfs3.ModeSetUID|nfs3.ModeSetGID) != 0) {
		if err := chmod(fd, mode); err != nil {
			return fs.status("chmod", err)
		}
	}
	return fs.status("utimes", setTimes(fd, set.Atime, set.Mtime))
}

// modeFor returns the mode that c gives to a file of a group: who is not in the group cannot
// lend it.
func modeFor(c *vfs.Cred, kind nfs3.FileType, mode, gid uint32) uint32 {
	mode &= nfs3.ModeMask
	if c.UID != 0 && !c.InGroup(gid) && kind != nfs3.TypeDir {
		mode &^= nfs3.ModeSetGID
	}
	return mode
}

// dropSetID takes the bits that would lend another's rights from the mode of a file. Without the
// right to execute, set-group-id means something else (mandatory locks).
func dropSetID(kind nfs3.FileType, mode uint32) uint32 {
	if kind != nfs3.TypeReg {
		return mode
	}
	mode &^= nfs3.ModeSetUID
	if mode&0o010 != 0 {
		mode &^= nfs3.ModeSetGID
	}
	return mode
}

func (fs *FS) truncate(f file, size uint64) error {
	d, err := fs.open(f, true)
	if err != nil {
		return err
	}
	defer d.release()
	return again(func() error { return unix.Ftruncate(d.fd, int64(size)) })
}

// noID is nobody's number: for chown(2) it means that nothing changes.
const noID = math.MaxUint32

func chown(fd int, uid, gid uint32) error {
	return again(func() error { return unix.Fchownat(fd, "", int(uid), int(gid), unix.AT_EMPTY_PATH) })
}

func chmod(fd int, mode uint32) error {
	return again(func() error { return unix.Fchmodat(unix.AT_FDCWD, procPath(fd), mode, 0) })
}

// setTimes sets the times of a file, in one step.
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
