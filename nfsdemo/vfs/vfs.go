// Package vfs is what lies between the NFS server and the file systems that it
// serves. A file system speaks in NFSv3's own types (package nfs3): handles,
// attributes, and an nfs3.Status as the error of what it refuses.
package vfs

import (
	"context"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// FS is a file system, with a method for each procedure of NFS. Any of its methods may be called
// concurrently with any other, on the same file too; each looks like a single step to the others.
//
// An error that is or wraps an nfs3.Status is the caller's answer. Any other is a failure of the
// server, such as data of a WRITE that could not be fetched: it is logged, and the caller gets
// SYSTEM_ERR of RPC, which most take for EIO. Results that are described as post-operation
// attributes or as WccData are good with an error, too, where they are present.
//
// A handle is checked by every method that is given one: nfs3.ErrBadHandle when the
// file system never made it, nfs3.ErrStale when what it stood for is gone.
// A name is not empty, not longer than the file system can take
// (nfs3.ErrNameTooLong), and has no '/' and no NUL in it; nfs3.ErrAcces is the answer to
// other names (RFC 1813 section 3.2). That, too, is for the file system to check.
type FS interface {
	Reader

	// SetAttr changes attributes, all that are asked for or none. With a guard it fails with
	// nfs3.ErrNotSync unless that is the file's ctime.
	SetAttr(ctx context.Context, c *Cred, h nfs3.FH, set *nfs3.Sattr, guard *nfs3.Time) (nfs3.WccData, error)

	// Write stores data at off, all of it, or as much as there is room for if that is something;
	// off plus the data's length fits an int64. The data is fetched into memory of the file
	// system's, and only after the call was found to be permitted. Fetching may block: the file
	// system holds no lock meanwhile. It fetches before it changes anything, and not into the file
	// itself: an error of that fetch may mean that the call is the late copy of another, over whose
	// file a newer call may have written. It is returned as it is. The owner of the file may write
	// it whatever its mode says.
	Write(ctx context.Context, c *Cred, h nfs3.FH, off uint64, data xdr.Bulk, how nfs3.StableHow) (WriteResult, error)

	// Commit makes n written bytes at off durable; n 0 means all from off.
	Commit(ctx context.Context, c *Cred, h nfs3.FH, off uint64, n uint32) (nfs3.WccData, error)

	// Create makes a regular file. Whether an existing one is an error is said by how. With
	// nfs3.Unchecked an existing regular file is returned, its size set if that is asked for. It
	// returns what became of the directory.
	Create(ctx context.Context, c *Cred, dir nfs3.FH, name string, how *nfs3.CreateHow) (Object, nfs3.WccData, error)

	// Mkdir makes a directory.
	Mkdir(ctx context.Context, c *Cred, dir nfs3.FH, name string, set *nfs3.Sattr) (Object, nfs3.WccData, error)

	// Symlink makes a symbolic link to path, which means nothing to the server. The mode of a link
	// means nothing to anybody. A path that is empty or has a NUL in it is nfs3.ErrInval, one that
	// is too long nfs3.ErrNameTooLong.
	Symlink(ctx context.Context, c *Cred, dir nfs3.FH, name, path string, set *nfs3.Sattr) (Object, nfs3.WccData, error)

	// Mknod makes a file of type nfs3.TypeFIFO, TypeSock, TypeChr or TypeBlk, the last two of the
	// numbers in rdev and by user 0 alone (nfs3.ErrPerm). Other types are nfs3.ErrBadType.
	Mknod(ctx context.Context, c *Cred, dir nfs3.FH, name string, kind nfs3.FileType, rdev nfs3.Specdata, set *nfs3.Sattr) (Object, nfs3.WccData, error)

	// Remove takes the name of anything but a directory (nfs3.ErrIsDir) from a directory. With its
	// last name a file is gone: its handle is stale. The name "." is nfs3.ErrInval, ".."
	// nfs3.ErrIsDir.
	Remove(ctx context.Context, c *Cred, dir nfs3.FH, name string) (nfs3.WccData, error)

	// Rmdir removes an empty directory (nfs3.ErrNotDir, nfs3.ErrNotEmpty). The name "." is
	// nfs3.ErrInval, ".." nfs3.ErrExist (RFC 1813 section 3.3.13).
	Rmdir(ctx context.Context, c *Cred, dir nfs3.FH, name string) (nfs3.WccData, error)

	// Rename gives a file another name, maybe in another directory, in one step. A file that has
	// that name already is replaced: a directory by a directory (nfs3.ErrNotDir), if it is empty
	// (nfs3.ErrNotEmpty), anything else by anything but a directory (nfs3.ErrIsDir). With two names
	// of the same file nothing happens. A directory cannot move below itself, and the names "." and
	// ".." cannot be used (nfs3.ErrInval). Who moves a directory to another must be permitted to
	// write it, too: its ".." changes (nfs3.ErrAcces). It returns what became of both directories.
	Rename(ctx context.Context, c *Cred, from nfs3.FH, fromName string, to nfs3.FH, toName string) (fromWcc, toWcc nfs3.WccData, err error)

	// Link gives a file, but not a directory (nfs3.ErrIsDir), a further name, which does not exist
	// yet. It returns the file's post-operation attributes and what became of the directory.
	Link(ctx context.Context, c *Cred, h, dir nfs3.FH, name string) (nfs3.PostOpAttr, nfs3.WccData, error)
}

// Reader is what reads of a file system: all of one that cannot be written ([ReadOnly]).
type Reader interface {
	// ID identifies the file system: the FSID of its attributes, and the first
	// eight bytes, big-endian, of each of its handles.
	ID() uint64

	// Root returns the handle of the root directory. It does not change.
	Root() nfs3.FH

	// GetAttr returns the attributes of a file; nobody is refused them.
	GetAttr(ctx context.Context, h nfs3.FH) (nfs3.Fattr, error)

	// Lookup finds a name in a directory, also "." and "..", which of the root is the
	// root. It returns the directory's post-operation attributes.
	Lookup(ctx context.Context, c *Cred, dir nfs3.FH, name string) (Object, nfs3.PostOpAttr, error)

	// Access returns which of the rights in want c has, and post-operation
	// attributes. Rights that make no sense for the type of file are not granted.
	Access(ctx context.Context, c *Cred, h nfs3.FH, want nfs3.Access) (nfs3.Access, nfs3.PostOpAttr, error)

	// Read hands out up to n bytes at off, as far as the file goes, by reference; off plus n fits
	// an int64, or n is 0. It appends the data to r.Data. The owner of the file may read it
	// whatever its mode says, and so may who can execute it (RFC 1813 section 4.4). Only regular
	// files have data: of directories Read, Write and Commit are nfs3.ErrIsDir, of others
	// nfs3.ErrInval.
	Read(ctx context.Context, c *Cred, h nfs3.FH, off uint64, n int, r *ReadResult) error

	// ReadLink returns where a symbolic link leads; nobody is refused that. Of
	// other files it is nfs3.ErrInval. The attributes are post-operation attributes.
	ReadLink(ctx context.Context, c *Cred, h nfs3.FH) (string, nfs3.PostOpAttr, error)

	// ReadDir calls yield with each entry behind cookie, which is 0 or that of an earlier entry,
	// "." and ".." among them, until yield returns false. The entry is yield's until it returns.
	// yield must not call the file system. With plus entries have attributes and handles where they
	// can be had. Entries that exist all the time are seen exactly once by a series of calls,
	// whatever happens to others. verf came with the cookie; nfs3.ErrBadCookie tells that the
	// cookie no longer means anything.
	ReadDir(ctx context.Context, c *Cred, dir nfs3.FH, cookie uint64, verf nfs3.Verifier, plus bool, yield func(*nfs3.Entry) bool) (DirResult, error)

	// StatFS tells how full the file system is.
	StatFS(ctx context.Context, h nfs3.FH) (nfs3.FSStat, nfs3.PostOpAttr, error)

	// Info tells what the file system can do; sizes of transfers are the server's
	// business.
	Info() FSInfo
}

// Cred is who asks. User 0 may do everything.
type Cred struct {
	UID, GID uint32
	GIDs     []uint32 // supplementary groups
}

// InGroup reports whether gid is one of the caller's groups.
func (c *Cred) InGroup(gid uint32) bool {
	if c.GID == gid {
		return true
	}
	for _, g := range c.GIDs {
		if g == gid {
			return true
		}
	}
	return false
}

// Object is a file that was found or made.
type Object struct {
	File nfs3.FH
	Attr nfs3.PostOpAttr
}

// ReadResult is what Read hands out.
type ReadResult struct {
	// Data is a scatter list. The bytes do not change and stay until Release is
	// called, once, however long that takes; Release may be nil. It is called with an
	// error of Read too, and the data then is not sent.
	Data    [][]byte
	Release xdr.Releaser
	EOF     bool // the data ends where the file does, or behind
	Attr    nfs3.PostOpAttr
}

// WriteResult is the outcome of Write.
type WriteResult struct {
	Wcc       nfs3.WccData
	Count     uint32         // bytes stored
	Committed nfs3.StableHow // at least what was asked for
}

// DirResult is the outcome of ReadDir.
type DirResult struct {
	Attr nfs3.PostOpAttr // of the directory
	Verf nfs3.Verifier   // of the cookies
	EOF  bool            // no entry follows those that yield took
}

// FSInfo is what a file system can do.
type FSInfo struct {
	MaxFileSize uint64 // in bytes
	TimeDelta   nfs3.Time
	Properties  uint32 // nfs3.FSFLink and so on
	PathConf    nfs3.PathConf
	// Epoch changes when data that was written and not committed may have been lost. The server's
	// write verifier changes with it, so that clients write such data again (RFC 1813 section 4.8).
	Epoch uint64
	// NonBlocking file systems never wait, for a disk for example, save that Write waits for its
	// data. Their calls are executed where they are received. One that embeds another file system,
	// and waits for something in addition, must clear this.
	NonBlocking bool
}
