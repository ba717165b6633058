package dirfs

import (
	"cmp"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// making finds a name in a directory, or makes a file with that name.
type making struct {
	c    *vfs.Cred
	dir  dir
	name string
	kind nfs3.FileType
	set  nfs3.Sattr

	// make makes the file, which nobody else can access yet, and returns a descriptor.
	make func(b *birth) (int, error)
	// unnamed is set by make if the file has no name yet. It gets one when it is complete, so
	// nothing is left if the process is killed.
	unnamed bool
	// exists decides whether an existing file is what was asked for. Nil means that it never is.
	exists func(ch *child) error
}

// do makes the file in a directory.
func (m *making) do(t *tree, h *nfs3.FH) (o vfs.Object, wcc nfs3.WccData, err error) {
	if m.dir, err = t.holdDir(h); err != nil {
		return o, wcc, err
	}
	defer m.dir.release()
	var made *desc
	wcc, err = m.dir.step(func(a nfs3.Fattr) (err error) {
		o, made, err = m.findOrMake(&a)
		return err
	})
	if made != nil {
		// Without the lock, so files that others make in the directory are synced together.
		defer made.release()
		if serr := m.persist(made); err == nil {
			err = serr
		}
	}
	return o, wcc, err
}

// findOrMake finds or makes the file. It returns a descriptor if it has made it. a has the
// attributes of the directory, which is locked.
func (m *making) findOrMake(a *nfs3.Fattr) (vfs.Object, *desc, error) {
	if err := vfs.CheckName(m.name, MaxName); err != nil {
		return vfs.Object{}, nil, err
	}
	if !m.dir.perm(m.c, a).Can(m.c, vfs.MayExec) {
		return vfs.Object{}, nil, nfs3.ErrAcces
	}
	if reserved(m.name) {
		return vfs.Object{}, nil, nfs3.ErrExist
	}
	for tries := 0; ; tries++ {
		ch, err := m.dir.child(m.name)
		if err == nil {
			if m.exists == nil {
				return vfs.Object{}, nil, nfs3.ErrExist
			}
			if err := m.exists(&ch); err != nil {
				return vfs.Object{}, nil, err
			}
			return m.dir.object(m.name, &ch), nil, nil
		}
		if err != nfs3.ErrNoEnt {
			return vfs.Object{}, nil, err
		}
		o, made, err := m.makeFile(a)
		if err == nfs3.ErrExist && tries < 3 {
			continue // the host was quicker
		}
		return o, made, err
	}
}

func (m *making) makeFile(a *nfs3.Fattr) (vfs.Object, *desc, error) {
	if err := m.dir.perm(m.c, a).CheckAddName(m.c); err != nil {
		return vfs.Object{}, nil, err
	}
	b, err := newBirth(m.c, m.dir, a, m.kind, &m.set)
	if err != nil {
		return vfs.Object{}, nil, err
	}
	t := m.dir.t
	for tries := 0; ; tries++ {
		fd, err := m.make(&b)
		if err != nil {
			return vfs.Object{}, nil, t.host.status("create", err)
		}
		var ch child
		if err = b.give(&t.host, fd); err == nil {
			err = statFD(fd, &ch.st)
		}
		if err == nil {
			ch.id, err = t.files.identify(fd, &noName[0], &ch.st)
		}
		if err != nil {
			m.unmake(fd)
			return vfs.Object{}, nil, t.host.status("create", err)
		}
		if t.files.used(&ch.id) && ch.st.Mask&unix.STATX_BTIME != 0 && tries < 3 {
			// The host has reused an inode number within one tick of its clock. Old handles would
			// lead to the new file, so wait and make another.
			m.unmake(fd)
			time.Sleep(hostTick)
			continue
		}
		if m.unnamed {
			if err = linkFD(fd, m.dir.path.fd, m.name); err == nil {
				err = statFD(fd, &ch.st)
			}
			if err != nil {
				unix.Close(fd)
				return vfs.Object{}, nil, t.host.status("create", err)
			}
		}
		ch.attr = t.fattr(&ch.st)
		o := m.dir.object(m.name, &ch)
		n := t.nodeOf(&ch.id)
		if m.kind == nfs3.TypeReg {
			return o, t.descs.data.add(n, fd, true), nil
		}
		return o, t.descs.paths.add(n, fd, false), nil
	}
}

// hostTick is the longest step of file times in Linux, on kernels without finer ones.
const hostTick = 10 * time.Millisecond

// makeAt makes a file by a call that returns no descriptor, and opens it with O_PATH.
func (m *making) makeAt(format uint32, call func(dirfd int) error) (int, error) {
	dirfd := m.dir.path.fd
	if err := again(func() error { return call(dirfd) }); err != nil {
		return -1, err
	}
	fd, err := openPath(dirfd, m.name)
	if err != nil {
		return -1, err
	}
	var dir, st unix.Statx_t
	if err := cmp.Or(statFD(fd, &st), statFD(dirfd, &dir)); err != nil {
		unix.Close(fd)
		return -1, err
	}
	if uint32(st.Mode)&unix.S_IFMT != format || !m.dir.t.host.fresh(&st, &dir) {
		unix.Close(fd)
		return -1, nfs3.ErrJukebox
	}
	return fd, nil
}

// unmake closes and removes a file that could not be completed.
func (m *making) unmake(fd int) {
	unix.Close(fd)
	if m.unnamed {
		return
	}
	flags := 0
	if m.kind == nfs3.TypeDir {
		flags = unix.AT_REMOVEDIR
	}
	err := again(func() error { return unix.Unlinkat(m.dir.path.fd, m.name, flags) })
	if err != nil {
		h := &m.dir.t.host
		h.logger.Error("a file that could not be made whole stays",
			"path", h.path, "name", m.name, "err", err)
	}
}

// persist writes a new file and its name to stable storage (RFC 1813 section 4.8).
func (m *making) persist(made *desc) error {
	f := file{m.dir.t, made.node, made}
	switch m.kind {
	case nfs3.TypeReg:
		if err := f.sync(made, (*desc).fsync); err != nil {
			return err
		}
	case nfs3.TypeDir:
		if err := f.persist(m.kind); err != nil {
			return err
		}
	}
	return m.dir.persist(nfs3.TypeDir)
}
