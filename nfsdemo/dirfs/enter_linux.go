package dirfs

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// maker is how enter makes a file.
type maker struct {
	// make makes the file, which can be accessed by nobody yet, and returns a descriptor of it.
	make func(d file, b *birth) (int, error)
	// named reports whether make has given the file its name. If not, it gets that when it is whole, so that there is
	// nothing else of it should the process be killed. nil means that it has.
	named func() bool
	// exists decides whether one that exists is what was asked for; it may be nil.
	exists func(d file, ch *child) error
}

// enter finds a name in a directory or makes a file of that name.
func (fs *FS) enter(c *vfs.Cred, dir *nfs3.FH, name string, kind nfs3.FileType, set *nfs3.Sattr, m maker) (vfs.Object, nfs3.WccData, error) {
	d, _, err := fs.holdDir(dir)
	if err != nil {
		return vfs.Object{}, nfs3.WccData{}, err
	}
	defer d.release()
	o, made, wcc, err := fs.enterLocked(c, d, name, kind, set, m)
	if made != nil {
		// Behind the lock: what others make in the directory meanwhile is synced together.
		defer made.release()
		if serr := fs.persistNew(d, made, kind); err == nil {
			err = serr
		}
	}
	return o, wcc, err
}

func (fs *FS) enterLocked(c *vfs.Cred, d file, name string, kind nfs3.FileType, set *nfs3.Sattr, m maker) (o vfs.Object, made *desc, wcc nfs3.WccData, err error) {
	d.n.mu.Lock()
	defer d.n.mu.Unlock()
	a, err := fs.attr(d)
	if err != nil {
		return o, nil, wcc, err
	}
	wcc.Before = a.Pre()
	o, made, err = fs.findOrMake(c, d, &a, name, kind, set, m)
	wcc.After = fs.post(d)
	return o, made, wcc, err
}

func (fs *FS) findOrMake(c *vfs.Cred, d file, a *nfs3.Fattr, name string, kind nfs3.FileType, set *nfs3.Sattr, m maker) (vfs.Object, *desc, error) {
	if err := vfs.CheckName(name, MaxName); err != nil {
		return vfs.Object{}, nil, err
	}
	if !fs.perm(c, d, a).Can(c, vfs.MayExec) {
		return vfs.Object{}, nil, nfs3.ErrAcces
	}
	if reserved(name) {
		return vfs.Object{}, nil, nfs3.ErrExist
	}
	for tries := 0; ; tries++ {
		ch, err := fs.child(d, name)
		if err == nil {
			if m.exists == nil {
				return vfs.Object{}, nil, nfs3.ErrExist
			}
			if err := m.exists(d, &ch); err != nil {
				return vfs.Object{}, nil, err
			}
			return fs.object(d, name, &ch), nil, nil
		}
		if err != nfs3.ErrNoEnt {
			return vfs.Object{}, nil, err
		}
		o, made, err := fs.makeFile(c, d, a, name, kind, set, m)
		if err == nfs3.ErrExist && tries < 3 {
			continue // the host was quicker
		}
		return o, made, err
	}
}

// makeFile makes a file; d.n.mu is held.
func (fs *FS) makeFile(c *vfs.Cred, d file, a *nfs3.Fattr, name string, kind nfs3.FileType, set *nfs3.Sattr, m maker) (vfs.Object, *desc, error) {
	if err := fs.perm(c, d, a).CheckAddName(c); err != nil {
		return vfs.Object{}, nil, err
	}
	b, err := fs.newBirth(c, d, a, kind, set)
	if err != nil {
		return vfs.Object{}, nil, err
	}
	for tries := 0; ; tries++ {
		fd, err := m.make(d, &b)
		if err != nil {
			return vfs.Object{}, nil, fs.status("create", err)
		}
		named := m.named == nil || m.named()
		var ch child
		if err = b.give(fd); err == nil {
			err = statFD(fd, &ch.st)
		}
		if err != nil {
			unix.Close(fd)
			if named {
				fs.unmake(d, name, kind)
			}
			return vfs.Object{}, nil, fs.status("create", err)
		}
		if _, again := fs.table.get(keyOf(&ch.st)); again && ch.st.Mask&unix.STATX_BTIME != 0 && tries < 3 {
			// The number of an inode that was removed, before the host's clock has moved on: to the handles that
			// clients have of that it would be the same file.
			unix.Close(fd)
			if named {
				fs.unmake(d, name, kind)
			}
			time.Sleep(hostTick)
			continue
		}
		if !named {
			if err = linkFD(fd, d.path.fd, name); err == nil {
				err = statFD(fd, &ch.st)
			}
			if err != nil {
				unix.Close(fd)
				return vfs.Object{}, nil, fs.status("create", err)
			}
		}
		ch.attr = fs.fattr(&ch.st)
		o := fs.object(d, name, &ch)
		n := fs.intern(keyOf(&ch.st), d.n, name)
		if kind == nfs3.TypeReg {
			return o, fs.data.add(n, fd, true), nil
		}
		return o, fs.paths.add(n, fd, false), nil
	}
}

// hostTick is the longest time for which Linux gives the same time to files, on kernels that do not
// give finer ones.
const hostTick = 10 * time.Millisecond

// unmake removes a file that could not get what it should.
func (fs *FS) unmake(d file, name string, kind nfs3.FileType) {
	flags := 0
	if kind == nfs3.TypeDir {
		flags = unix.AT_REMOVEDIR
	}
	if err := again(func() error { return unix.Unlinkat(d.path.fd, name, flags) }); err != nil {
		fs.logger.Error("a file that could not be made whole stays", "path", fs.config.Path, "name", name, "err", err)
	}
}

// persistNew brings a new file and its name to stable storage (RFC 1813 section 4.8).
func (fs *FS) persistNew(d file, made *desc, kind nfs3.FileType) error {
	switch kind {
	case nfs3.TypeReg:
		if err := fs.syncData(made, unix.Fsync); err != nil {
			return err
		}
	case nfs3.TypeDir:
		if err := fs.persist(file{made.node, made}, kind); err != nil {
			return err
		}
	}
	return fs.persist(d, nfs3.TypeDir)
}
