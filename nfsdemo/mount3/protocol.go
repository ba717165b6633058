package mount3

import (
	"fmt"
	"io/fs"
)

// The RPC program (RFC 1813 section 5.1.2).
const (
	Program = 100005
	Version = 3
)

// Sizes of the protocol (RFC 1813 section 5.1.4).
const (
	MaxPath = 1024 // longest path, MNTPATHLEN
	MaxName = 255  // longest name of a host, MNTNAMLEN
	FHSize  = 64   // longest file handle, FHSIZE3
)

// MaxFlavors bounds the list of flavours in a reply. The RFC does not.
const MaxFlavors = 64

// Status is mountstat3 (RFC 1813 section 5.1.5). Values other than OK are errors; errors.Is finds
// fs.ErrNotExist and the like in them.
type Status uint32

// The outcomes.
const (
	OK             Status = 0
	ErrPerm        Status = 1     // not owner
	ErrNoEnt       Status = 2     // no such export or directory
	ErrIO          Status = 5     // hard error
	ErrAcces       Status = 13    // permission denied
	ErrNotDir      Status = 20    // not a directory
	ErrInval       Status = 22    // invalid argument
	ErrNameTooLong Status = 63    // path too long
	ErrNotSupp     Status = 10004 // operation not supported
	ErrServerFault Status = 10006 // none of the others fits
)

var statusNames = map[Status]string{
	OK:             "MNT3_OK",
	ErrPerm:        "MNT3ERR_PERM",
	ErrNoEnt:       "MNT3ERR_NOENT",
	ErrIO:          "MNT3ERR_IO",
	ErrAcces:       "MNT3ERR_ACCES",
	ErrNotDir:      "MNT3ERR_NOTDIR",
	ErrInval:       "MNT3ERR_INVAL",
	ErrNameTooLong: "MNT3ERR_NAMETOOLONG",
	ErrNotSupp:     "MNT3ERR_NOTSUPP",
	ErrServerFault: "MNT3ERR_SERVERFAULT",
}

// String returns the status's name in the RFC.
func (s Status) String() string {
	if n, ok := statusNames[s]; ok {
		return n
	}
	return fmt.Sprintf("mountstat3 %d", uint32(s))
}

// Error returns String().
func (s Status) Error() string { return s.String() }

// Is reports whether target is the error of io/fs with the same meaning.
func (s Status) Is(target error) bool {
	switch target {
	case fs.ErrNotExist:
		return s == ErrNoEnt
	case fs.ErrPermission:
		return s == ErrPerm || s == ErrAcces
	case fs.ErrInvalid:
		return s == ErrInval
	}
	return false
}
