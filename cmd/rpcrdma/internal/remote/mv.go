package remote

import (
	"errors"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

var ErrSame = errors.New("that is the same file")

// SameFile reports whether two attributes are of the same file.
func SameFile(a, b *nfs3.Fattr) bool { return a.FileID == b.FileID && a.FSID == b.FSID }
