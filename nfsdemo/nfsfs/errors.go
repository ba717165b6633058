package nfsfs

import (
	"errors"
	"io/fs"
	"os"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
)

// Errors that *fs.PathError and *os.LinkError may wrap, besides those of the server.
var (
	// ErrLoop: more than 40 symbolic links had to be followed.
	ErrLoop = errors.New("too many symbolic links")
	// ErrEscape: a symbolic link leads to where this client cannot follow.
	ErrEscape = errors.New("link leads out of the export")
	// ErrDataLost: the server has lost written data again and again (RFC 1813 section 3.3.21).
	ErrDataLost = errors.New("the server keeps losing written data")
)

var (
	errSpecial  = errors.New("neither a regular file nor a directory")
	errFlags    = errors.New("flags that NFS does not know")
	errAppend   = errors.New("WriteAt of a file that was opened to append")
	errRemoved  = errors.New("the server still lists what it has removed")
	errTooDeep  = errors.New("directories too deep in one another")
	errNegative = errors.New("negative offset or size")
	errTime     = errors.New("NFS has times from 1970 to 2106 only")
)

// invalid is an error that is also fs.ErrInvalid.
type invalid struct{ error }

func (invalid) Is(target error) bool { return target == fs.ErrInvalid }
func (e invalid) Unwrap() error      { return e.error }

// pathError returns err as what an operation has met; nil stays nil.
func pathError(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// linkError is pathError with two names.
func linkError(op, from, to string, err error) error {
	if err == nil {
		return nil
	}
	return &os.LinkError{Op: op, Old: from, New: to, Err: err}
}

// failed returns the error of an operation that was not tried, as it would fail.
func failed(op nfs3.Proc, name string, err error) error {
	return &nfsclient.Error{Op: op.String(), Name: name, Err: err}
}
