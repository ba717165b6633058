package words

import (
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// StatusWords are the statuses of NFS in words.
var StatusWords = map[nfs3.Status]string{
	nfs3.ErrPerm:        "operation not permitted",
	nfs3.ErrNoEnt:       "no such file or directory",
	nfs3.ErrIO:          "input/output error of the server",
	nfs3.ErrNXIO:        "no such device or address",
	nfs3.ErrAcces:       "permission denied",
	nfs3.ErrExist:       "file exists",
	nfs3.ErrXDev:        "on another file system of the server",
	nfs3.ErrNoDev:       "no such device",
	nfs3.ErrNotDir:      "not a directory",
	nfs3.ErrIsDir:       "is a directory",
	nfs3.ErrInval:       "invalid argument",
	nfs3.ErrFBig:        "file too large",
	nfs3.ErrNoSpc:       "no space left on the server",
	nfs3.ErrROFS:        "the server exports this read-only",
	nfs3.ErrMLink:       "too many links",
	nfs3.ErrNameTooLong: "file name too long",
	nfs3.ErrNotEmpty:    "directory not empty",
	nfs3.ErrDQuot:       "quota exceeded on the server",
	nfs3.ErrStale: "stale file handle: the file was removed, or the server has restarted and forgotten its " +
		"handles (serve --state keeps them)",
	nfs3.ErrRemote:      "too many levels of remote in path",
	nfs3.ErrBadHandle:   "the server does not know its own file handle any more",
	nfs3.ErrNotSync:     "changed meanwhile",
	nfs3.ErrBadCookie:   "the directory changed while it was read: try again",
	nfs3.ErrNotSupp:     "the server does not support this",
	nfs3.ErrTooSmall:    "too small for the server",
	nfs3.ErrServerFault: "something went wrong on the server",
	nfs3.ErrBadType:     "the server has no files of this type",
	nfs3.ErrJukebox:     "not available now: try again later",
}
