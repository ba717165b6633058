package dirfs

import (
	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// maxQuicker bounds how often an operation is tried when the host changes names meanwhile.
const maxQuicker = 3

// errQuicker is the error of an operation on a name that the host has meanwhile given to another
// file, which may be one that the caller has no right to replace. The client comes again.
const errQuicker = nfs3.ErrJukebox

// doomed is a child that is about to lose its name. Whether that was its last is seen afterwards,
// by a descriptor: another call, or the host, may give it a name at the same time.
type doomed struct {
	dir  dir
	name string
	id   fileID
	fd   int // O_PATH
}

// doom opens a child whose name is about to be taken from it.
func (d dir) doom(name string, ch *child) (*doomed, error) {
	t := d.t
	fd, err := t.descs.withRoom(func() (int, error) { return openPath(d.path.fd, name) })
	if err != nil {
		return nil, t.host.status("open", err)
	}
	x := &doomed{dir: d, name: name, fd: fd}
	var st unix.Statx_t
	if err = statFD(fd, &st); err == nil {
		x.id, err = t.files.identify(fd, &noName[0], &st)
	}
	if err == nil && x.id != ch.id {
		err = errQuicker
	}
	if err != nil {
		unix.Close(fd)
		return nil, t.host.status("open", err)
	}
	return x, nil
}

// unlinked notes that the child does not have the name any more.
func (x *doomed) unlinked() {
	t := x.dir.t
	var st unix.Statx_t
	if statFD(x.fd, &st) == nil && st.Nlink > 0 && st.Mode&unix.S_IFMT != unix.S_IFDIR {
		t.files.left(&x.id, x.dir.n, x.name)
	} else {
		t.forget(t.nodeOf(&x.id))
	}
}

func (x *doomed) close() { unix.Close(x.fd) }
