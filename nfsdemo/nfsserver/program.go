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
		// A long directory takes its time even in memory.
		procs[p].NonBlocking = s.nonBlocking() && p != nfs3.ProcReadDir && p != nfs3.ProcReadDirPlus
		procs[p].Once = once(p)
	}
	for p := range procs {
		procs[p].Name = nfs3.Proc(p).String()
	}
	return oncrpc.Program{Name: "NFS", Number: nfs3.Program, Version: nfs3.Version, Procedures: procs}
}

// once reports whether a call that is executed again answers otherwise than the first time, or undoes what others
// have done since: the second REMOVE finds no file, the second SETATTR cuts off what was
// appended. The second WRITE of the same data changes nothing, and keeping its reply would be dear.
func once(p nfs3.Proc) bool {
	switch p {
	case nfs3.ProcSetAttr, nfs3.ProcCreate, nfs3.ProcMkdir, nfs3.ProcSymlink, nfs3.ProcMknod, nfs3.ProcRemove,
		nfs3.ProcRmdir, nfs3.ProcRename, nfs3.ProcLink:
		return true
	}
	return false
}
