package nfsserver

import (
	"context"
	"errors"
	"net"
	"path"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// mounted records that a directory was mounted.
func (s *Server) mounted(q *request, dir string) {
	atomic.AddUint64(&s.stats.Mounts, 1)
	s.mounts.add(hostOf(q.conn), dir)
	args := []any{"path", dir}
	// MNT may be called with a flavour that the export does not allow. The caller is then another
	// user than the one who will use the mount.
	if _, may := q.rule.access(q.flavor); may {
		args = append(args, "uid", q.cred.UID)
	}
	if q.principal != "" {
		args = append(args, "principal", printable(q.principal))
	}
	s.log.Event(q.conn.RemoteAddr(), "nfs: mounted", q.entered, args...)
}

// unidentified logs that the user of a principal could not be found out.
func (s *Server) unidentified(principal string, err error) {
	s.log.Failure("nfs: cannot look up the user of a principal", unidentified{},
		"principal", printable(principal), "err", err)
}

// ungrouped logs that the groups of a user could not be found out.
func (s *Server) ungrouped(uid uint32, err error) {
	s.log.Failure("nfs: cannot look up the groups of a user", unidentified{}, "uid", uid, "err", err)
}

// unidentified is the key of a message that is logged once a minute.
type unidentified struct{}

// unmounted logs that a directory was unmounted.
func (s *Server) unmounted(peer net.Addr, dir string) {
	e, _ := s.find(path.Clean(dir))
	s.log.Event(peer, "nfs: unmounted", e, "path", dir)
}

// refused logs, for the administrator, why a directory was not mounted.
func (s *Server) refused(q *request, dir string, status nfs3.Status) {
	e, _ := s.find(path.Clean(dir))
	why := ""
	switch denied := status == nfs3.ErrAcces || status == nfs3.ErrPerm; {
	case !path.IsAbs(dir) || e == nil:
		atomic.AddUint64(&s.stats.NoExport, 1)
		why = "there is no such export"
	case denied && q.entered == nil:
		return // admit has logged that the export is not for this peer
	case denied && q.squashed:
		why = "the caller is squashed, and the anonymous user has no access to the directory"
	case denied:
		why = "the caller has no access to the directory"
	case status == nfs3.ErrNoEnt:
		why = "there is no such directory in the export"
	case status == nfs3.ErrNotDir:
		why = "it is not a directory"
	case status == nfs3.ErrStale:
		why = errRemoved.Error()
	default:
		why = status.Error()
	}
	args := []any{"path", printable(dir), "why", why}
	if e != nil {
		args = append(args, "export", e.Path)
	}
	if q.entered != nil {
		args = append(args, "uid", q.cred.UID)
	}
	s.log.Fault(q.conn.RemoteAddr(), "nfs: mount refused", e, args...)
}

// maxLogged is how many bytes of a client's path or name are logged.
const maxLogged = 128

func printable(s string) string {
	if len(s) > maxLogged {
		return s[:maxLogged] + "..."
	}
	return s
}

// failed counts and logs the statuses that an administrator wants to know of.
func (s *Server) failed(
	ctx context.Context, e *export, p nfs3.Proc, status nfs3.Status, err error,
) {
	switch status {
	case nfs3.ErrAcces, nfs3.ErrPerm:
		atomic.AddUint64(&s.stats.Denied, 1)
		return
	case nfs3.ErrIO, nfs3.ErrServerFault, nfs3.ErrNoSpc, nfs3.ErrDQuot:
		s.log.Failure("nfs: the file system fails", failure{e, status},
			"export", e.Path, "procedure", p, "err", err)
	case nfs3.ErrStale:
	default:
		return
	}
	if status == nfs3.ErrIO || status == nfs3.ErrStale {
		_ = s.look(ctx, e) // which logs it
	}
}

// failure is the key of a message that is logged once a minute.
type failure struct {
	export *export
	status nfs3.Status
}

// errRemoved means that the directory behind an export has been removed.
var errRemoved = errors.New("its directory has been removed")

// look checks whether the root of an export can be read. It logs each change once.
func (s *Server) look(ctx context.Context, e *export) error {
	attr, err := e.FS.GetAttr(ctx, e.FS.Root())
	switch {
	case err == nil && attr.Nlink == 0, errors.Is(err, nfs3.ErrStale):
		err = errRemoved
	case ctx.Err() != nil:
		return err // it was not the file system
	}
	switch gone := err != nil; {
	case gone == e.gone.Swap(gone):
	case gone:
		s.out.Error("nfs: an export has gone away", "export", e.Path, "err", err)
	default:
		s.out.Info("nfs: an export is back", "export", e.Path)
	}
	return err
}
