package nfsserver

import (
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// nfs returns the NFS program.
func (s *Server) nfs() oncrpc.Program {
	procs := make([]oncrpc.Procedure, nfs3.Procs)
	for p, h := range map[nfs3.Proc]oncrpc.Handler{
		nfs3.ProcGetAttr:     handler(s, getAttr),
		nfs3.ProcSetAttr:     handler(s, setAttr),
		nfs3.ProcLookup:      handler(s, lookup),
		nfs3.ProcAccess:      handler(s, access),
		nfs3.ProcReadLink:    handler(s, readLink),
		nfs3.ProcRead:        handler(s, read),
		nfs3.ProcWrite:       handler(s, write),
		nfs3.ProcCreate:      handler(s, create),
		nfs3.ProcMkdir:       handler(s, mkdir),
		nfs3.ProcSymlink:     handler(s, symlink),
		nfs3.ProcMknod:       handler(s, mknod),
		nfs3.ProcRemove:      handler(s, remove),
		nfs3.ProcRmdir:       handler(s, rmdir),
		nfs3.ProcRename:      handler(s, rename),
		nfs3.ProcLink:        handler(s, link),
		nfs3.ProcReadDir:     handler(s, readDir),
		nfs3.ProcReadDirPlus: handler(s, readDirPlus),
		nfs3.ProcFSStat:      handler(s, fsStat),
		nfs3.ProcFSInfo:      handler(s, fsInfo),
		nfs3.ProcPathConf:    handler(s, pathConf),
		nfs3.ProcCommit:      handler(s, commit),
	} {
		procs[p].Handler = h
	}
	for p := range procs {
		info := nfs3.Proc(p).Info()
		procs[p].Name, procs[p].Once = info.Name, info.Once
		procs[p].NonBlocking = procs[p].Handler != nil && !s.blocking && !info.Long
	}
	return oncrpc.Program{
		Name: "NFS", Number: nfs3.Program, Version: nfs3.Version, Procedures: procs, Share: s.share,
	}
}

// share gives the calls for each export their own share of the server's handlers, so a disk that
// hangs leaves room for the other exports. All arguments begin with a handle, and each handle with
// the ID of its file system.
func (s *Server) share(c *oncrpc.Call) uint64 {
	d := *c.Args
	if n := d.Uint32(); n < 8 || n > nfs3.FHSize {
		return 0
	}
	id := d.Uint64()
	if d.Err() != nil || s.table.Load().byID[id] == nil {
		return 0 // the call is refused at once
	}
	return id
}
