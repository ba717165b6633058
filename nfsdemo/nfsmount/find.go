// Package nfsmount finds the root handle of an export: which program answers MOUNT, where, and for what.
package nfsmount

import (
	"context"
	"errors"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// Config says where to look.
type Config struct {
	Host string // of the server, for rpcbind and for MOUNT over TCP
	Port int    // of MOUNT over TCP; 0: find it
	Cred oncrpc.Auth
}

// Root is an export that was found.
type Root struct {
	Handle nfs3.FH
	Export string // its path
	Rest   string // what of the path that was asked for is below it, without slashes around it
}

// Find mounts the export that holds path. t is a connection to the NFS server.
func Find(ctx context.Context, t oncrpc.Transport, path string, cfg Config) (Root, error) {
	return Root{}, errors.ErrUnsupported
}
