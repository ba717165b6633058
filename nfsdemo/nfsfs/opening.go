package nfsfs

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
)

// opening finds or makes the file that is to be opened.
type opening struct {
	names *resolver
	name  string
	flag  int // of OpenFile
	perm  fs.FileMode
}

// reach returns the node of the file, and whether it was made now.
func (o *opening) reach(ctx context.Context) (n node, made bool, err error) {
	switch {
	case o.flag&os.O_CREATE == 0:
		n, err = o.names.find(ctx, o.name, follow)
		return n, false, err
	case o.flag&os.O_EXCL != 0:
		p, err := o.names.parent(ctx, o.name)
		if err == nil && p.slash {
			err = failed(nfs3.ProcCreate, p.base, nfs3.ErrIsDir)
		}
		if err != nil {
			return node{}, false, err
		}
		n, err = o.createExclusive(ctx, p)
		return n, true, err
	}
	// Try again if somebody makes the file between LOOKUP and CREATE.
	for range 8 {
		n, err = o.names.find(ctx, o.name, follow)
		if !errors.Is(err, nfs3.ErrNoEnt) || n.base == "" {
			return n, false, err
		}
		var made nfsclient.Object
		how := nfs3.CreateHow{Mode: nfs3.Guarded, Set: nfs3.Sattr{Mode: SattrMode(o.perm)}}
		made, err = o.names.c.Create(ctx, n.dir, n.base, how)
		if !errors.Is(err, nfs3.ErrExist) {
			n.file, n.attr.Type = made.File, nfs3.TypeReg
			return n, true, err
		}
	}
	return n, false, err
}

// createExclusive makes a file that must not exist. If the transport repeats the call, the server
// recognises the verifier and does not return NFS3ERR_EXIST (RFC 1813 section 3.3.8). The server
// may have stored the verifier in the file's times, so those are set too.
func (o *opening) createExclusive(ctx context.Context, p place) (node, error) {
	n := node{dir: p.dir, base: p.base, attr: nfs3.Fattr{Type: nfs3.TypeReg}}
	how := nfs3.CreateHow{Mode: nfs3.Exclusive}
	if _, err := rand.Read(how.Verf[:]); err != nil {
		return n, err
	}
	c, set := o.names.c, nfs3.Sattr{Mode: SattrMode(o.perm)}
	made, err := c.Create(ctx, p.dir, p.base, how)
	if errors.Is(err, nfs3.ErrNotSupp) {
		how = nfs3.CreateHow{Mode: nfs3.Guarded, Set: set}
		made, err = c.Create(ctx, p.dir, p.base, how)
	}
	n.file = made.File
	if err != nil || how.Mode == nfs3.Guarded {
		return n, err
	}
	now := nfs3.SetTime{How: nfs3.ToServerTime}
	set.Atime, set.Mtime = now, now
	if _, err = c.SetAttr(ctx, n.file, set, nil); err != nil {
		_ = c.Remove(ctx, p.dir, p.base) // do not leave a file with arbitrary attributes
	}
	return n, err
}
