package dirfs

import (
	"context"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// Commit syncs the whole file.
func (fs *FS) Commit(
	_ context.Context, c *vfs.Cred, h nfs3.FH, _ uint64, _ uint32,
) (nfs3.WccData, error) {
	f, err := fs.tree.hold(&h)
	if err != nil {
		return nfs3.WccData{}, err
	}
	defer f.release()
	err = f.commit(c)
	f.n.mu.RLock()
	defer f.n.mu.RUnlock()
	a, aerr := f.attr()
	if aerr != nil {
		return nfs3.WccData{}, aerr
	}
	// A sync changes no attributes.
	return nfs3.WccData{Before: a.Pre(), After: nfs3.PostOpAttrOf(a)}, err
}

func (f file) commit(c *vfs.Cred) error {
	a, err := f.attr()
	if err != nil {
		return err
	}
	if err := isFile(&a); err != nil {
		return err
	}
	if !f.perm(c, &a).CanWriteData(c) {
		return nfs3.ErrAcces
	}
	d, err := f.open(false)
	if err != nil {
		return f.t.host.status("open", err)
	}
	defer d.release()
	return f.sync(d, (*desc).fsync)
}
