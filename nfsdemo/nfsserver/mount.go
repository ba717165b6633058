package nfsserver

import (
	"context"
	"path"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// flavors are the authentication flavours that NFS calls may use.
var flavors = []uint32{uint32(oncrpc.FlavorSys)}

// mount returns the MOUNT program.
func (s *Server) mount() oncrpc.Program {
	procs := make([]oncrpc.Procedure, mount3.Procs)
	procs[mount3.ProcMnt] = oncrpc.Procedure{Handler: s.mnt, NonBlocking: s.nonBlocking()}
	for p := range procs {
		procs[p].Name = mount3.Proc(p).String()
	}
	return oncrpc.Program{Name: "MOUNT", Number: mount3.Program, Version: mount3.Version, Procedures: procs}
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
	q.identify(c)
	root, err := s.resolve(ctx, &q.cred, args.Path)
	if err != nil {
		status, ok := statusOf(err)
		if !ok {
			return err
		}
		res.Status = mountStatus(status)
	}
	res.Root, res.Flavors = root, flavors
	res.MarshalXDR(c.Results)
	return nil
}

// resolve returns the handle of a directory: an export, or one below an export.
func (s *Server) resolve(ctx context.Context, c *vfs.Cred, dir string) (nfs3.FH, error) {
	if !path.IsAbs(dir) {
		return nfs3.FH{}, nfs3.ErrNoEnt
	}
	dir = path.Clean(dir)
	var (
		fs   vfs.FS
		best = -1
		rest string
	)
	for _, e := range s.exports {
		if below, ok := strings.CutPrefix(dir, strings.TrimSuffix(e.Path, "/")); ok &&
			(below == "" || below[0] == '/') && len(e.Path) > best {
			fs, best, rest = e.FS, len(e.Path), below
		}
	}
	if fs == nil {
		return nfs3.FH{}, nfs3.ErrNoEnt
	}
	at := fs.Root()
	for name := range strings.SplitSeq(rest, "/") {
		if name == "" {
			continue
		}
		o, _, err := fs.Lookup(ctx, c, at, name)
		if err != nil {
			return nfs3.FH{}, err
		}
		at = o.File
	}
	attr, err := fs.GetAttr(ctx, at)
	if err == nil && attr.Type != nfs3.TypeDir {
		err = nfs3.ErrNotDir
	}
	return at, err
}

// mountStatus returns the mountstat3 that means the same. Most have the same number.
func mountStatus(s nfs3.Status) mount3.Status {
	switch m := mount3.Status(s); m {
	case mount3.ErrPerm, mount3.ErrNoEnt, mount3.ErrIO, mount3.ErrAcces, mount3.ErrNotDir, mount3.ErrInval,
		mount3.ErrNameTooLong, mount3.ErrNotSupp:
		return m
	}
	return mount3.ErrServerFault
}
