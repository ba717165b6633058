package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsmount"
)

// target is what a URL names: rdma://host[:20049]/export/path[?mountport=N], or tcp://.
type target struct {
	scheme    string // "rdma" or "tcp"
	host      string
	port      int
	path      string // unescaped, of any bytes; begins with a slash; a trailing slash is kept
	mountPort int    // 0: to be found
}

// remotes are the exports that a command has reached, and how it reaches them (the flags). One connection
// serves all URLs of an export.
type remotes struct{}

// remote is one export.
type remote struct {
	fs     *nfsfs.FS
	client *nfsclient.Client
	root   nfsmount.Root
}

// addFlags gives a command the flags of all commands that reach a server.
func (r *remotes) addFlags(cmd *cobra.Command) {}

// open finds the export that a URL names something in, and the name of that in its fs.
func (r *remotes) open(ctx context.Context, url string) (m *remote, name string, err error) {
	return nil, "", errors.ErrUnsupported
}

// close ends all connections.
func (r *remotes) close() error { return nil }
