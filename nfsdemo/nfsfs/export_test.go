package nfsfs

import "github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"

// Client is the client of an FS.
func Client(f *FS) *nfsclient.Client { return f.c }
