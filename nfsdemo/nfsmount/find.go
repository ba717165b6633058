package nfsmount

import (
	"context"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// Root is an export that is mounted.
type Root struct {
	Handle nfs3.FH
	Export string // its path
	Rest   string // what of the path that was asked for is below it, without slashes around it

	Flavors []mount3.Flavor // that the server takes for it, the preferred first; it need not say
	Flavor  mount3.Flavor   // that calls of NFS should have: the first of these that there is

	service *Service
}

// Mount mounts the export that holds path. t is a connection to the NFS server. The error is a
// *SearchError if nobody answers MOUNT, and an *Error if the server refuses.
func Mount(ctx context.Context, t oncrpc.Transport, path string, cfg Config) (Root, error) {
	s, err := FindService(ctx, t, cfg)
	if err != nil {
		return Root{}, err
	}
	defer s.Close()
	return s.Mount(ctx, path)
}

// Unmount tells the server that the export is not mounted any more. Only the server's list of who
// has mounted what depends on it. It connects anew if the connection to MOUNT is closed.
func (r *Root) Unmount(ctx context.Context) error { return r.service.unmount(ctx, r.Export) }
