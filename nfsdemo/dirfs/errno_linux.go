package dirfs

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// statuses are the answers to the host's errors.
var statuses = map[unix.Errno]nfs3.Status{
	unix.EPERM:        nfs3.ErrPerm,
	unix.ENOENT:       nfs3.ErrNoEnt,
	unix.EIO:          nfs3.ErrIO,
	unix.ENXIO:        nfs3.ErrNXIO,
	unix.EACCES:       nfs3.ErrAcces,
	unix.EEXIST:       nfs3.ErrExist,
	unix.EXDEV:        nfs3.ErrXDev,
	unix.ENODEV:       nfs3.ErrNoDev,
	unix.ENOTDIR:      nfs3.ErrNotDir,
	unix.EISDIR:       nfs3.ErrIsDir,
	unix.EINVAL:       nfs3.ErrInval,
	unix.EFBIG:        nfs3.ErrFBig,
	unix.EOVERFLOW:    nfs3.ErrFBig,
	unix.ENOSPC:       nfs3.ErrNoSpc,
	unix.EROFS:        nfs3.ErrROFS,
	unix.EMLINK:       nfs3.ErrMLink,
	unix.ENAMETOOLONG: nfs3.ErrNameTooLong,
	unix.ENOTEMPTY:    nfs3.ErrNotEmpty,
	unix.EDQUOT:       nfs3.ErrDQuot,
	unix.ESTALE:       nfs3.ErrStale,
	unix.EOPNOTSUPP:   nfs3.ErrNotSupp,
	unix.ENOSYS:       nfs3.ErrNotSupp,
	unix.ELOOP:        nfs3.ErrAcces, // a link where a directory was
	unix.EBUSY:        nfs3.ErrAcces, // a mount point
	unix.ETXTBSY:      nfs3.ErrAcces, // a program that runs
	unix.EAGAIN:       nfs3.ErrJukebox,
	unix.EMFILE:       nfs3.ErrJukebox,
	unix.ENFILE:       nfs3.ErrJukebox,
	unix.ENOMEM:       nfs3.ErrJukebox,
}

// status turns an error of the host into the answer of a procedure. What the operator
// should know is logged.
func (h *host) status(op string, err error) error {
	if err == nil {
		return nil
	}
	if s, ok := err.(nfs3.Status); ok {
		return s
	}
	s := nfs3.ErrIO
	var errno unix.Errno
	known := false
	if errors.As(err, &errno) {
		if as, ok := statuses[errno]; ok {
			s, known = as, true
		}
	}
	switch {
	case s == nfs3.ErrJukebox, s == nfs3.ErrIO, !known:
		h.logger.Error("the host refuses an operation",
			"path", h.path, "op", op, "err", err, "answer", s)
	}
	return s
}
