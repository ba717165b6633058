package memfs

import (
	"context"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// StatFS returns the total and the free space.
func (fs *FS) StatFS(_ context.Context, h nfs3.FH) (nfs3.FSStat, nfs3.PostOpAttr, error) {
	fs.tree.RLock()
	defer fs.tree.RUnlock()
	n, err := fs.find(&h)
	files := uint64(len(fs.nodes))
	if err != nil {
		return nfs3.FSStat{}, nfs3.PostOpAttr{}, err
	}
	const fileCharge = nodeCharge + nameCharge
	free := uint64(max(0, fs.capacity-fs.used.Load()))
	// Only memory limits the number of files.
	return nfs3.FSStat{
		TotalBytes: uint64(fs.capacity),
		FreeBytes:  free,
		AvailBytes: free,
		TotalFiles: files + free/fileCharge,
		FreeFiles:  free / fileCharge,
		AvailFiles: free / fileCharge,
	}, n.attrs(), nil
}
