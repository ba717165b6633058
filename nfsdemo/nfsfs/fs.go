package nfsfs

import (
	"context"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
)

// FS is a tree of files on a server. Its methods may be called concurrently. Their errors are of
// type *fs.PathError or *os.LinkError. Most of these wrap an *nfsclient.Error: errors.Is finds
// fs.ErrNotExist and the like in it, and errors.As the nfs3.Status.
type FS struct {
	c       *nfsclient.Client
	cfg     Config
	names   resolver
	buffers buffers

	asking sync.Mutex // held while the server is asked for what follows
	mu     sync.Mutex // guards what follows
	rsize  int        // bytes of a READ; 0: not known yet
	wsize  int        // bytes of a WRITE
}

// New returns the tree below root. If root is a file, the tree is that file, with the name "". New
// panics with an *oncrpc.ConfigError if a value of cfg is out of range.
func New(c *nfsclient.Client, root nfs3.FH, cfg Config) *FS {
	cfg.settle()
	return &FS{c: c, cfg: cfg, names: resolver{c: c, root: root, export: cfg.Export}}
}

// StatFS returns the total and the free space of the file system that contains name.
func (f *FS) StatFS(ctx context.Context, name string) (nfs3.FSStat, error) {
	n, err := f.names.find(ctx, name, follow)
	if err != nil {
		return nfs3.FSStat{}, pathError("statfs", name, err)
	}
	st, err := f.c.FSStat(ctx, n.file)
	return st, pathError("statfs", name, err)
}

// FSInfo returns the limits and properties of the server.
func (f *FS) FSInfo(ctx context.Context) (nfs3.FSInfo, error) {
	info, err := f.c.FSInfo(ctx, f.names.root)
	return info, pathError("fsinfo", ".", err)
}

// sizes returns the bytes of a READ and of a WRITE. It asks the server until that has answered
// once.
func (f *FS) sizes(ctx context.Context) (r, w int, err error) {
	f.mu.Lock()
	r, w = f.rsize, f.wsize
	f.mu.Unlock()
	if r > 0 {
		return r, w, nil
	}
	f.asking.Lock()
	defer f.asking.Unlock()
	f.mu.Lock()
	r, w = f.rsize, f.wsize // another may have been quicker
	f.mu.Unlock()
	if r > 0 {
		return r, w, nil
	}
	info, err := f.c.FSInfo(ctx, f.names.root)
	if err != nil {
		return 0, 0, err
	}
	r, w = lowered(f.cfg.TransferSize, info.RtMax), lowered(f.cfg.TransferSize, info.WtMax)
	f.mu.Lock()
	f.rsize, f.wsize = r, w
	f.mu.Unlock()
	return r, w, nil
}

// lowered returns size, or the server's limit if that is less. Limit 0 means that the server has
// not said one.
func lowered(size int, limit uint32) int {
	if limit == 0 {
		return size
	}
	return int(min(uint64(size), uint64(limit)))
}
