// Package vfs is the interface between the NFS server (package nfsserver) and the file systems that
// it serves.
//
// A file system implements [FS], or [Reader] if it cannot be written:
//
//	type fileSystem struct{ ... } // has the methods of vfs.Reader
//
//	nfs, err := nfsserver.New(nfsserver.Config{Exports: []nfsserver.Export{
//		{Path: "/export", FS: vfs.ReadOnly{Reader: &fileSystem{}}},
//	}})
//
// Its methods use the types of package nfs3: handles, attributes, and an nfs3.Status as the error
// of a call that it refuses. [Perm] has the permission checks that file systems share. Package
// vfstest tests whether a file system keeps the contract. Example_fileSystem of package nfsdemo is
// a complete file system.
package vfs

import (
	"context"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// FS is a file system. It has a method for each procedure of NFS. Methods may be called
// concurrently, also for the same file. Each must look like a single step to the others.
//
// Errors: an error that is or wraps an nfs3.Status is sent to the client. Any other error is a
// failure of the server, such as WRITE data that could not be fetched. It is logged, and the client
// gets the RPC error SYSTEM_ERR, which most clients report as EIO. Post-operation attributes and
// WccData are also sent with an error, if they are present.
//
// Handles: every method checks the handles that it is given. It returns nfs3.ErrBadHandle if the
// file system never made the handle, and nfs3.ErrStale if the file is gone.
//
// Names: every method checks the names that it is given (RFC 1813 section 3.2; see CheckName). It
// returns nfs3.ErrAcces if a name is empty or contains '/' or NUL, and nfs3.ErrNameTooLong if the
// name is longer than the file system allows.
type FS interface {
	Reader

	// SetAttr changes all the attributes that set asks for, or none. If guard is not nil and
	// differs from the file's ctime, it fails with nfs3.ErrNotSync.
	SetAttr(
		ctx context.Context, c *Cred, h nfs3.FH, set *nfs3.Sattr, guard *nfs3.Time,
	) (nfs3.WccData, error)

	// Write stores data at offset off. It stores all of the data, or as much as there is room for;
	// it fails if there is room for none, for example with nfs3.ErrNoSpc. The offset plus the
	// length of the data fits an int64. The owner of a file may write it whatever its mode is.
	//
	// Write checks permissions first. Then it fetches the data, into memory of its own and not into
	// the file. Only then it changes the file. Fetching may block, so the file system must not hold
	// a lock meanwhile. An error of the fetch is returned as it is: it may mean that this call is a
	// late copy of an earlier one, and that newer data has been written since.
	Write(
		ctx context.Context, c *Cred, h nfs3.FH, off uint64, data xdr.Bulk, how nfs3.StableHow,
	) (WriteResult, error)

	// Commit makes n written bytes at offset off durable. With n 0 it is all from off to the end.
	Commit(ctx context.Context, c *Cred, h nfs3.FH, off uint64, n uint32) (nfs3.WccData, error)

	// Create makes a regular file. The mode in how decides whether a file that exists already is an
	// error. With nfs3.Unchecked an existing regular file is returned, and its size is set if how
	// asks for that. The WccData is the directory's.
	Create(
		ctx context.Context, c *Cred, dir nfs3.FH, name string, how *nfs3.CreateHow,
	) (Object, nfs3.WccData, error)

	// Mkdir makes a directory. The WccData is the parent directory's.
	Mkdir(
		ctx context.Context, c *Cred, dir nfs3.FH, name string, set *nfs3.Sattr,
	) (Object, nfs3.WccData, error)

	// Symlink makes a symbolic link that contains path. The server does not interpret the path, and
	// nobody interprets the mode of a link. An empty path, or one that contains NUL, is
	// nfs3.ErrInval. A path that is too long is nfs3.ErrNameTooLong.
	Symlink(
		ctx context.Context, c *Cred, dir nfs3.FH, name, path string, set *nfs3.Sattr,
	) (Object, nfs3.WccData, error)

	// Mknod makes a FIFO, a socket, or a device (nfs3.TypeFIFO, TypeSock, TypeChr, TypeBlk). rdev
	// has the numbers of a device. Only user 0 may make devices; for others it is nfs3.ErrPerm.
	// Other types are nfs3.ErrBadType.
	Mknod(
		ctx context.Context, c *Cred, dir nfs3.FH, name string, kind nfs3.FileType,
		rdev nfs3.Specdata, set *nfs3.Sattr,
	) (Object, nfs3.WccData, error)

	// Remove removes the name of a file that is not a directory (nfs3.ErrIsDir). When its last name
	// is removed the file is gone, and its handle is stale. The name "." is nfs3.ErrInval, and ".."
	// is nfs3.ErrIsDir.
	Remove(ctx context.Context, c *Cred, dir nfs3.FH, name string) (nfs3.WccData, error)

	// Rmdir removes an empty directory (nfs3.ErrNotDir, nfs3.ErrNotEmpty). The name "." is
	// nfs3.ErrInval, and ".." is nfs3.ErrExist (RFC 1813 section 3.3.13).
	Rmdir(ctx context.Context, c *Cred, dir nfs3.FH, name string) (nfs3.WccData, error)

	// Rename gives a file another name, in the same or another directory, in one step. The WccData
	// are those of both directories.
	//
	// A file that has the new name already is replaced. A directory can only replace an empty
	// directory (nfs3.ErrNotDir, nfs3.ErrNotEmpty), and other files cannot replace a directory
	// (nfs3.ErrIsDir). If both names are names of the same file, nothing happens.
	//
	// A directory cannot move below itself, and the names "." and ".." cannot be used
	// (nfs3.ErrInval). To move a directory to another parent, the caller must also have permission
	// to write the directory itself, because its ".." changes (nfs3.ErrAcces).
	Rename(
		ctx context.Context, c *Cred, from nfs3.FH, fromName string, to nfs3.FH, toName string,
	) (fromWcc, toWcc nfs3.WccData, err error)

	// Link gives a file another name, which must not exist yet. Directories cannot have one
	// (nfs3.ErrIsDir). It returns the file's post-operation attributes, and the WccData of the
	// directory.
	Link(
		ctx context.Context, c *Cred, h, dir nfs3.FH, name string,
	) (nfs3.PostOpAttr, nfs3.WccData, error)
}

// Reader has the methods of a file system that change nothing. A file system that cannot be written
// needs only these; see [ReadOnly].
type Reader interface {
	// ID identifies the file system. It is the FSID in attributes, and the first eight bytes
	// (big-endian) of each handle.
	ID() uint64

	// Root returns the handle of the root directory, which never changes.
	Root() nfs3.FH

	// GetAttr returns the attributes of a file. It needs no permission.
	GetAttr(ctx context.Context, h nfs3.FH) (nfs3.Fattr, error)

	// Lookup finds a name in a directory. The names include "." and ".."; the root's ".." is the
	// root. It returns the post-operation attributes of the directory.
	Lookup(ctx context.Context, c *Cred, dir nfs3.FH, name string) (Object, nfs3.PostOpAttr, error)

	// Access returns those rights in want that c has, and post-operation attributes. It does not
	// grant rights that make no sense for the type of file.
	Access(
		ctx context.Context, c *Cred, h nfs3.FH, want nfs3.Access,
	) (nfs3.Access, nfs3.PostOpAttr, error)

	// Read returns up to n bytes at offset off, by reference: it appends slices to r.Data. It
	// returns fewer bytes at the end of the file. The offset plus n fits an int64, or n is 0.
	//
	// The owner of a file may read it whatever its mode is, and so may a caller who can execute it
	// (RFC 1813 section 4.4). Only regular files have data. For directories Read, Write and Commit
	// return nfs3.ErrIsDir, for other files nfs3.ErrInval.
	Read(ctx context.Context, c *Cred, h nfs3.FH, off uint64, n int, r *ReadResult) error

	// ReadLink returns the path in a symbolic link, and post-operation attributes. It needs no
	// permission. For other files it returns nfs3.ErrInval.
	ReadLink(ctx context.Context, c *Cred, h nfs3.FH) (string, nfs3.PostOpAttr, error)

	// ReadDir calls yield with each entry after cookie, until yield returns false. Cookie is 0, or
	// comes from an earlier entry. Entries include "." and "..". The entry is only valid until
	// yield returns, and yield must not call the file system.
	//
	// With plus, entries have attributes and handles where possible. An entry that exists all the
	// time is seen exactly once by a series of calls, even if others come and go. verf is the
	// verifier that came with the cookie, or zero from clients that do not keep it. If the cookie
	// is no longer valid, or its verifier is needed and missing, ReadDir returns nfs3.ErrBadCookie
	// (CheckCookie).
	ReadDir(
		ctx context.Context, c *Cred, dir nfs3.FH, cookie uint64, verf nfs3.Verifier, plus bool,
		yield func(*nfs3.Entry) bool,
	) (DirResult, error)

	// StatFS returns the total and the free space of the file system, and post-operation
	// attributes.
	StatFS(ctx context.Context, h nfs3.FH) (nfs3.FSStat, nfs3.PostOpAttr, error)

	// Info returns the limits and properties of the file system. The server sets the sizes of
	// transfers.
	Info() FSInfo
}

// Cred identifies the caller. User 0 may do everything.
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

// Object is a file that was found or made: its handle and attributes.
type Object struct {
	File nfs3.FH
	Attr nfs3.PostOpAttr
}

// ReadResult is the result of Reader.Read.
type ReadResult struct {
	// Data is a scatter list. The bytes must stay unchanged until Release is called, however long
	// that takes. Release is called once, also when Read returns an error; the data is not sent
	// then. It may be nil.
	Data    [][]byte
	Release xdr.Releaser
	EOF     bool // the data reaches the end of the file
	Attr    nfs3.PostOpAttr
}

// WriteResult is the result of FS.Write.
type WriteResult struct {
	Wcc       nfs3.WccData
	Count     uint32         // bytes stored
	Committed nfs3.StableHow // at least as stable as was asked for
}

// DirResult is the result of Reader.ReadDir.
type DirResult struct {
	Attr nfs3.PostOpAttr // of the directory
	Verf nfs3.Verifier   // of the cookies
	EOF  bool            // there are no more entries
}

// FSInfo has the limits and properties of a file system.
type FSInfo struct {
	MaxFileSize uint64 // in bytes
	TimeDelta   nfs3.Time
	Properties  uint32 // nfs3.FSFLink and so on
	PathConf    nfs3.PathConf
	// Epoch changes when data that was written but not committed may have been lost. The server's
	// write verifier changes with it, so clients write such data again (RFC 1813 section 4.8).
	Epoch uint64
	// NonBlocking promises that the methods never wait, for example for a disk; only Write may
	// wait, for its data. Calls then run on the goroutine that received them. A file system that
	// embeds another one, and waits for something itself, must clear this.
	NonBlocking bool
}
