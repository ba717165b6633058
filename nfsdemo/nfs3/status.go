package nfs3

import (
	"fmt"
	"io/fs"
)

// Status is nfsstat3, the result of a procedure (RFC 1813 section 2.6). Values other than OK are
// errors; errors.Is finds fs.ErrNotExist and the like in them.
type Status uint32

// The outcomes.
const (
	OK             Status = 0
	ErrPerm        Status = 1     // not owner
	ErrNoEnt       Status = 2     // no such file or directory
	ErrIO          Status = 5     // hard error
	ErrNXIO        Status = 6     // no such device or address
	ErrAcces       Status = 13    // permission denied
	ErrExist       Status = 17    // file exists
	ErrXDev        Status = 18    // link between file systems
	ErrNoDev       Status = 19    // no such device
	ErrNotDir      Status = 20    // not a directory
	ErrIsDir       Status = 21    // is a directory
	ErrInval       Status = 22    // invalid argument
	ErrFBig        Status = 27    // file too large
	ErrNoSpc       Status = 28    // no space left
	ErrROFS        Status = 30    // read-only file system
	ErrMLink       Status = 31    // too many hard links
	ErrNameTooLong Status = 63    // file name too long
	ErrNotEmpty    Status = 66    // directory not empty
	ErrDQuot       Status = 69    // quota exceeded
	ErrStale       Status = 70    // the handle's file is gone
	ErrRemote      Status = 71    // too many levels of remote in path
	ErrBadHandle   Status = 10001 // the handle fails consistency checks
	ErrNotSync     Status = 10002 // SETATTR's guard differs from the ctime
	ErrBadCookie   Status = 10003 // stale READDIR cookie
	ErrNotSupp     Status = 10004 // operation not supported
	ErrTooSmall    Status = 10005 // buffer or request too small
	ErrServerFault Status = 10006 // any other failure
	ErrBadType     Status = 10007 // the server cannot make objects of this type
	ErrJukebox     Status = 10008 // ask again later
)

var statusNames = map[Status]string{OK: "NFS3_OK", ErrPerm: "NFS3ERR_PERM", ErrNoEnt: "NFS3ERR_NOENT",
	ErrIO: "NFS3ERR_IO", ErrNXIO: "NFS3ERR_NXIO", ErrAcces: "NFS3ERR_ACCES", ErrExist: "NFS3ERR_EXIST",
	ErrXDev: "NFS3ERR_XDEV", ErrNoDev: "NFS3ERR_NODEV", ErrNotDir: "NFS3ERR_NOTDIR", ErrIsDir: "NFS3ERR_ISDIR",
	ErrInval: "NFS3ERR_INVAL", ErrFBig: "NFS3ERR_FBIG", ErrNoSpc: "NFS3ERR_NOSPC", ErrROFS: "NFS3ERR_ROFS",
	ErrMLink: "NFS3ERR_MLINK", ErrNameTooLong: "NFS3ERR_NAMETOOLONG", ErrNotEmpty: "NFS3ERR_NOTEMPTY",
	ErrDQuot: "NFS3ERR_DQUOT", ErrStale: "NFS3ERR_STALE", ErrRemote: "NFS3ERR_REMOTE",
	ErrBadHandle: "NFS3ERR_BADHANDLE", ErrNotSync: "NFS3ERR_NOT_SYNC", ErrBadCookie: "NFS3ERR_BAD_COOKIE",
	ErrNotSupp: "NFS3ERR_NOTSUPP", ErrTooSmall: "NFS3ERR_TOOSMALL", ErrServerFault: "NFS3ERR_SERVERFAULT",
	ErrBadType: "NFS3ERR_BADTYPE", ErrJukebox: "NFS3ERR_JUKEBOX"}

// String returns the status's name in the RFC.
func (s Status) String() string {
	if n, ok := statusNames[s]; ok {
		return n
	}
	return fmt.Sprintf("nfsstat3 %d", uint32(s))
}

// Error returns String().
func (s Status) Error() string { return s.String() }

// Is reports whether target is the error of io/fs with the same meaning.
func (s Status) Is(target error) bool {
	switch target {
	case fs.ErrNotExist:
		return s == ErrNoEnt || s == ErrStale
	case fs.ErrExist:
		return s == ErrExist || s == ErrNotEmpty
	case fs.ErrPermission:
		return s == ErrPerm || s == ErrAcces
	case fs.ErrInvalid:
		return s == ErrInval
	}
	return false
}
