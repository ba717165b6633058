package nfsfs

import (
	"errors"
	"io/fs"
	"os"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
)

// Errors that a *fs.PathError or *os.LinkError may wrap, besides the server's.
var (
	// ErrLoop: a name leads over more than 40 symbolic links.
	ErrLoop = errors.New("too many symbolic links")
	// ErrEscape: a symbolic link leads out of the tree.
	ErrEscape = errors.New("link leads out of the export")
	// ErrDataLost: the server has lost written data again and again (RFC 1813 section 3.3.21).
	ErrDataLost = errors.New("the server keeps losing written data")
)

var (
	errSpecial  = errors.New("neither a regular file nor a directory")
	errFlags    = errors.New("unknown flags")
	errAppend   = errors.New("WriteAt of a file opened with O_APPEND")
	errRemoved  = errors.New("the server still lists what it has removed")
	errTooDeep  = errors.New("directories nested too deeply")
	errNegative = errors.New("negative offset or size")
	errTime     = errors.New("NFS has only times from 1970 to 2106")
)

// invalid makes an error match fs.ErrInvalid.
type invalid struct{ error }

func (invalid) Is(target error) bool { return target == fs.ErrInvalid }
func (e invalid) Unwrap() error      { return e.error }

// pathError wraps err in a *fs.PathError. It returns nil for nil.
func pathError(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// linkError wraps err in an *os.LinkError. It returns nil for nil.
func linkError(op, from, to string, err error) error {
	if err == nil {
		return nil
	}
	return &os.LinkError{Op: op, Old: from, New: to, Err: err}
}

// failed returns the error that the server would give, for a call that was not made.
func failed(op nfs3.Proc, name string, err error) error {
	return &nfsclient.Error{Op: op.String(), Name: name, Err: err}
}
