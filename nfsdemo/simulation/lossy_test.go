package simulation

import (
	"context"
	"slices"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/memfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs/vfstest"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// lossyFS is a file system that loses uncommitted UNSTABLE writes when the server is restarted.
type lossyFS struct {
	*memfs.FS

	mu   sync.Mutex // guards the fields below, and is held while data changes
	lost []change
}

// change is the data that an UNSTABLE write replaced.
type change struct {
	file nfs3.FH
	off  uint64
	old  []byte
}

// Write records the data that an UNSTABLE write replaces.
func (fs *lossyFS) Write(
	ctx context.Context, c *vfs.Cred, h nfs3.FH, off uint64, data xdr.Bulk, how nfs3.StableHow,
) (vfs.WriteResult, error) {
	if how != nfs3.Unstable {
		return fs.FS.Write(ctx, c, h, off, data, how)
	}
	p, err := data.Bytes(ctx)
	if err != nil {
		return vfs.WriteResult{}, err
	}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	var before vfs.ReadResult
	if err := fs.Read(ctx, c, h, off, len(p), &before); err != nil {
		return vfs.WriteResult{}, err
	}
	old := slices.Concat(before.Data...)
	if before.Release != nil {
		before.Release.Release()
	}
	old = append(old, make([]byte, len(p)-len(old))...)
	r, err := fs.FS.Write(ctx, c, h, off, vfstest.Bulk(p), how)
	if err == nil {
		fs.lost = append(fs.lost, change{h, off, old})
	}
	return r, err
}

// Commit makes a whole file durable.
func (fs *lossyFS) Commit(
	ctx context.Context, c *vfs.Cred, h nfs3.FH, off uint64, n uint32,
) (nfs3.WccData, error) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.lost = slices.DeleteFunc(fs.lost, func(ch change) bool { return ch.file == h })
	return fs.FS.Commit(ctx, c, h, off, n)
}

// lose undoes uncommitted writes, newest first. Files keep their lengths.
func (fs *lossyFS) lose() error {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for _, ch := range slices.Backward(fs.lost) {
		_, err := fs.FS.Write(context.Background(), &vfs.Cred{}, ch.file, ch.off,
			vfstest.Bulk(ch.old), nfs3.FileSync)
		if err != nil {
			return err
		}
	}
	fs.lost = nil
	return nil
}
