package nfsserver

import (
	"context"
	"errors"
	"net"
	"path"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// mounted notes that a directory was mounted.
func (s *Server) mounted(q *request, dir string) {
	s.stats.mounts.Add(1)
	s.mounts.add(hostOf(q.conn), dir)
	args := []any{"path", dir}
	// Who MNT is called by with a flavour that the export does not take says nothing of who uses
	// it.
	if _, may := q.rule.access(q.flavor); may {
		args = append(args, "uid", q.cred.UID)
	}
	if q.principal != "" {
		args = append(args, "principal", printable(q.principal))
	}
	s.log.Event(q.conn.RemoteAddr(), "nfs: mounted", q.entered, args...)
}

// unidentified notes that it could not be found out which user a principal is.
func (s *Server) unidentified(principal string, err error) {
	s.log.Failure("nfs: which user a principal is cannot be found out", unidentified{},
		"principal", printable(principal), "err", err)
}

// unidentified is what is logged once a minute.
type unidentified struct{}

// unmounted notes that a directory is mounted no more, if it was.
func (s *Server) unmounted(peer net.Addr, dir string) {
	e, _ := s.find(path.Clean(dir))
	s.log.Event(peer, "nfs: unmounted", e, "path", dir)
}

// refused notes that a directory was not mounted, and why, in words for who administers the server.
func (s *Server) refused(q *request, dir string, status nfs3.Status) {
	e, _ := s.find(path.Clean(dir))
	why := ""
	switch denied := status == nfs3.ErrAcces || status == nfs3.ErrPerm; {
	case !path.IsAbs(dir) || e == nil:
		s.stats.noExport.Add(1)
		why = "there is no such export"
	case denied && q.entered == nil:
		return // it is not for this peer, as admit has said
	case denied && q.squashed:
		why = "the caller is squashed, and that user may not go there"
	case denied:
		why = "the caller may not go there"
	case status == nfs3.ErrNoEnt:
		why = "there is no such directory in the export"
	case status == nfs3.ErrNotDir:
		why = "that is no directory"
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

// maxLogged bounds what the log has of a path or a name that a client has made up.
const maxLogged = 128

func printable(s string) string {
	if len(s) > maxLogged {
		return s[:maxLogged] + "..."
	}
	return s
}

// failed notes that a call for an export ends with a status that says more than that of most.
func (s *Server) failed(ctx context.Context, e *export, p nfs3.Proc,
	status nfs3.Status, err error) {
	switch status {
	case nfs3.ErrAcces, nfs3.ErrPerm:
		s.stats.denied.Add(1)
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

// failure is what is logged once a minute.
type failure struct {
	export *export
	status nfs3.Status
}

// errRemoved: the directory that an export is has been removed.
var errRemoved = errors.New("its directory has been removed")

// look finds out whether an export is there. That it has gone away, or is back, is logged once.
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
