package memfs

import "github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"

// perm returns the Perm of n. n.mu is held.
func (n *node) perm() vfs.Perm { return vfs.Perm{Type: n.kind, Mode: n.mode, UID: n.uid, GID: n.gid} }
