package nfs3

import "math"

// The RPC program (RFC 1813 section 2.2).
const (
	Program = 100003
	Version = 3
)

// Sizes of the protocol (RFC 1813 section 2.4).
const (
	FHSize       = 64 // largest file handle
	VerifierSize = 8  // cookie, create and write verifiers
)

// maxName bounds a name while decoding. The protocol has no limit other than the message's length.
// A name that the file system refuses must get NFS3ERR_NAMETOOLONG, not GARBAGE_ARGS.
const maxName = math.MaxInt32

// Verifier is cookieverf3, createverf3 or writeverf3.
type Verifier [VerifierSize]byte

// FileType is ftype3 (RFC 1813 section 2.6).
type FileType uint32

// The types of files.
const (
	TypeReg  FileType = 1 // regular file
	TypeDir  FileType = 2 // directory
	TypeBlk  FileType = 3 // block special device
	TypeChr  FileType = 4 // character special device
	TypeLnk  FileType = 5 // symbolic link
	TypeSock FileType = 6 // socket
	TypeFIFO FileType = 7 // named pipe
)

// Mode bits (RFC 1813 section 2.6).
const (
	ModeSetUID = 0o4000
	ModeSetGID = 0o2000
	ModeSticky = 0o1000
	ModePerm   = 0o777
	ModeMask   = 0o7777
)

// Access is a set of the rights that ACCESS asks for (RFC 1813 section 3.3.4).
type Access uint32

// The rights.
const (
	AccessRead    Access = 0x01 // read data, or a directory
	AccessLookup  Access = 0x02 // look up a name in a directory
	AccessModify  Access = 0x04 // rewrite data, or change directory entries
	AccessExtend  Access = 0x08 // write new data, or add directory entries
	AccessDelete  Access = 0x10 // delete a directory entry
	AccessExecute Access = 0x20 // execute a file
	AccessAll     Access = 0x3f
)

// StableHow is stable_how: how durable a WRITE is to be, or was (RFC 1813 section 3.3.7).
type StableHow uint32

// The degrees of durability.
const (
	Unstable StableHow = 0
	DataSync StableHow = 1
	FileSync StableHow = 2
)

// CreateMode is createmode3 (RFC 1813 section 3.3.8).
type CreateMode uint32

// The ways to create a file.
const (
	Unchecked CreateMode = 0 // an existing file is no error
	Guarded   CreateMode = 1 // an existing file is ErrExist
	Exclusive CreateMode = 2 // like Guarded, but a repeated call succeeds
)

// TimeHow is time_how: how SETATTR sets a time (RFC 1813 section 2.6).
type TimeHow uint32

// The ways to set a time.
const (
	DontChange   TimeHow = 0
	ToServerTime TimeHow = 1
	ToClientTime TimeHow = 2
)

// Properties of a file system (RFC 1813 section 3.3.19).
const (
	FSFLink        = 0x01 // hard links
	FSFSymlink     = 0x02 // symbolic links
	FSFHomogeneous = 0x08 // PATHCONF is the same everywhere
	FSFCanSetTime  = 0x10 // SETATTR can set times
)
