package nfsmount

import (
	"context"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// Root is a mounted export.
type Root struct {
	Handle nfs3.FH
	Export string // path of the export
	Rest   string // the rest of the wanted path below it, without slashes at its ends

	Flavors []mount3.Flavor // that the server takes, the preferred first; may be empty
	Flavor  mount3.Flavor   // for calls of NFS: the first of these that the client has

	service *Service
}

// Mount mounts the export that contains path. t is a connection to the NFS server. The error is a
// *SearchError if no MOUNT program answers, and an *Error if the server refuses.
func Mount(ctx context.Context, t oncrpc.Transport, path string, cfg Config) (Root, error) {
	s, err := FindService(ctx, t, cfg)
	if err != nil {
		return Root{}, err
	}
	defer s.Close()
	return s.Mount(ctx, path)
}

// Unmount tells the server that this client no longer uses the export. It changes only the server's
// list of mounts. It connects anew if the connection to MOUNT has been closed.
func (r *Root) Unmount(ctx context.Context) error { return r.service.unmount(ctx, r.Export) }
