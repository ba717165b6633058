package memfs

import (
	"context"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// GetAttr returns the attributes of a file.
func (fs *FS) GetAttr(_ context.Context, h nfs3.FH) (nfs3.Fattr, error) {
	n, err := fs.rlock(&h)
	if err != nil {
		return nfs3.Fattr{}, err
	}
	defer n.mu.RUnlock()
	return n.attr(), nil
}

// Access returns those rights in want that c has.
func (fs *FS) Access(
	_ context.Context, c *vfs.Cred, h nfs3.FH, want nfs3.Access,
) (nfs3.Access, nfs3.PostOpAttr, error) {
	n, err := fs.rlock(&h)
	if err != nil {
		return 0, nfs3.PostOpAttr{}, err
	}
	defer n.mu.RUnlock()
	return n.perm().Access(c, want), n.post(), nil
}

// SetAttr changes attributes.
func (fs *FS) SetAttr(
	_ context.Context, c *vfs.Cred, h nfs3.FH, set *nfs3.Sattr, guard *nfs3.Time,
) (nfs3.WccData, error) {
	n, err := fs.lock(&h)
	if err != nil {
		return nfs3.WccData{}, err
	}
	defer n.mu.Unlock()
	wcc := nfs3.WccData{Before: n.pre()}
	if guard != nil && *guard != wcc.Before.Ctime {
		err = nfs3.ErrNotSync
	} else {
		err = n.change(c, set)
	}
	wcc.After = n.post()
	return wcc, err
}

// change sets attributes if c may set all of them. n.mu is held.
func (n *node) change(c *vfs.Cred, set *nfs3.Sattr) error {
	if err := n.perm().CheckSetAttr(c, set); err != nil {
		return err
	}
	if set.Size.Set && set.Size.To > MaxFileSize {
		return nfs3.ErrFBig
	}
	if n.kind != nfs3.TypeLnk { // the mode of a link means nothing
		n.mode = n.perm().ModeSet(c, set)
	}
	switch {
	case set.Size.Set:
		n.truncate(set.Size.To)
		n.modified()
	case *set != nfs3.Sattr{}:
		n.changed()
	}
	if set.UID.Set {
		n.uid = set.UID.To
	}
	if set.GID.Set {
		n.gid = set.GID.To
	}
	if t, ok := n.timeOf(set.Atime); ok {
		n.atime.Store(t)
	}
	if t, ok := n.timeOf(set.Mtime); ok {
		n.mtime = t
	}
	return nil
}

// timeOf returns the time that set asks for, if any. The server's time is the ctime of this change.
func (n *node) timeOf(set nfs3.SetTime) (int64, bool) {
	switch set.How {
	case nfs3.ToServerTime:
		return n.ctime, true
	case nfs3.ToClientTime:
		return set.To.Nanos(), true
	}
	return 0, false
}
