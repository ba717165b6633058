package nfsserver

import (
	"context"
	"errors"
	"time"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// mount returns the MOUNT program.
func (s *Server) mount() oncrpc.Program {
	procs := []oncrpc.Procedure{
		mount3.ProcNull:    {}, // package oncrpc has a handler for it
		mount3.ProcMnt:     {Handler: s.mnt},
		mount3.ProcDump:    {Handler: s.dump},
		mount3.ProcUmnt:    {Handler: s.umnt},
		mount3.ProcUmntAll: {Handler: s.umntAll},
		mount3.ProcExport:  {Handler: s.listExports},
	}
	for i := range procs {
		p, info := &procs[i], mount3.Proc(i).Info()
		p.Name = info.Name
		p.NonBlocking = p.Handler != nil && !s.blocking && !info.Long
	}
	return oncrpc.Program{
		Name: "MOUNT", Number: mount3.Program, Version: mount3.Version, Procedures: procs,
		Share: func(*oncrpc.Call) uint64 { return mount3.Program }, // apart from NFS calls
	}
}

func (s *Server) mnt(ctx context.Context, c *oncrpc.Call) error {
	var (
		args mount3.MntArgs
		res  mount3.MntRes
		q    request
	)
	args.UnmarshalXDR(c.Args)
	if err := c.Args.Finish(); err != nil {
		return err
	}
	defer q.leave()
	root, err := q.root(ctx, s, c, args.Path)
	for began := time.Now(); q.mayWait(err) && time.Since(began) < mountWait; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(mountPause):
		}
		root, err = q.root(ctx, s, c, args.Path)
	}
	switch status, ok := statusOf(err); {
	case err == nil:
		s.mounted(&q, args.Path)
	case !ok:
		return err
	default:
		s.refused(&q, args.Path, status)
		res.Status = mountStatus(status)
	}
	if q.entered != nil {
		_ = s.look(ctx, q.entered)
		res.Flavors = q.rule.Flavors
	}
	res.Root = root
	res.MarshalXDR(c.Results)
	return nil
}

// MOUNT has no status that has a client try again later, as NFS3ERR_JUKEBOX does. So MNT tries
// again itself, for a while.
const (
	mountWait  = 5 * time.Second
	mountPause = 100 * time.Millisecond
)

// mayWait reports whether MNT may try again after an error. The call must be on a worker.
func (q *request) mayWait(err error) bool {
	return errors.Is(err, nfs3.ErrJukebox) && (q.server.blocking || q.principal != "")
}

// root finds the handle of a directory for MNT.
func (q *request) root(ctx context.Context, s *Server, c *oncrpc.Call, path string) (nfs3.FH, error) {
	if err := q.begin(ctx, s, c); err != nil {
		return nfs3.FH{}, err
	}
	return q.resolve(ctx, path)
}

func (s *Server) umnt(_ context.Context, c *oncrpc.Call) error {
	var args mount3.MntArgs
	args.UnmarshalXDR(c.Args)
	if err := c.Args.Finish(); err != nil {
		return err
	}
	if s.mounts.remove(hostOf(c.Conn), args.Path) {
		s.unmounted(c.Conn.RemoteAddr(), args.Path)
	}
	return nil
}

func (s *Server) umntAll(_ context.Context, c *oncrpc.Call) error {
	if err := c.Args.Finish(); err != nil {
		return err
	}
	if s.mounts.removeAll(hostOf(c.Conn)) {
		s.unmounted(c.Conn.RemoteAddr(), "all")
	}
	return nil
}

func (s *Server) dump(_ context.Context, c *oncrpc.Call) error {
	if err := c.Args.Finish(); err != nil {
		return err
	}
	res := mount3.DumpRes{Mounts: s.mounts.all()}
	res.MarshalXDR(c.Results)
	return nil
}

// listExports lists all exports, also those that the caller may not use, with the clients that may.
func (s *Server) listExports(_ context.Context, c *oncrpc.Call) error {
	if err := c.Args.Finish(); err != nil {
		return err
	}
	var res mount3.ExportRes
	for _, e := range s.table.Load().list {
		x := mount3.Export{Path: e.Path}
		x.Groups = e.groups()
		res.Exports = append(res.Exports, x)
	}
	res.MarshalXDR(c.Results)
	return nil
}

// groups returns the clients of an export as MOUNT lists them. An empty list means everybody.
func (e *export) groups() (groups []string) {
	for _, r := range e.rules {
		if len(r.Clients) == 0 {
			return nil
		}
		for _, p := range r.Clients {
			groups = append(groups, p.String())
		}
	}
	return groups
}

// mountStatus returns the mountstat3 with the same meaning. Most have the same number.
func mountStatus(s nfs3.Status) mount3.Status {
	switch m := mount3.Status(s); m {
	case mount3.ErrPerm, mount3.ErrNoEnt, mount3.ErrIO, mount3.ErrAcces, mount3.ErrNotDir,
		mount3.ErrInval, mount3.ErrNameTooLong, mount3.ErrNotSupp:
		return m
	}
	return mount3.ErrServerFault
}
