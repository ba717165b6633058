package nfsfs

import (
	"io/fs"
	"time"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// Info has the attributes of a file. It implements fs.FileInfo and fs.DirEntry. Sys returns a
// *nfs3.Fattr.
type Info struct {
	name   string
	handle nfs3.FH
	attr   nfs3.Fattr
}

var (
	_ fs.FileInfo = (*Info)(nil)
	_ fs.DirEntry = (*Info)(nil)
)

// Name returns the last part of the name.
func (i *Info) Name() string { return i.name }

// Size returns the length in bytes.
func (i *Info) Size() int64 { return size(&i.attr) }

// Mode returns the type and the permissions.
func (i *Info) Mode() fs.FileMode { return fileMode(&i.attr) }

// ModTime returns when the data was last changed.
func (i *Info) ModTime() time.Time { return i.attr.Mtime.Time() }

// IsDir reports whether the file is a directory.
func (i *Info) IsDir() bool { return i.attr.Type == nfs3.TypeDir }

// Sys returns Attr().
func (i *Info) Sys() any { return &i.attr }

// Type returns the type bits of Mode.
func (i *Info) Type() fs.FileMode { return i.Mode().Type() }

// Info returns i.
func (i *Info) Info() (fs.FileInfo, error) { return i, nil }

// String formats the file as ls does.
func (i *Info) String() string { return fs.FormatFileInfo(i) }

// Attr returns all attributes that the server sent.
func (i *Info) Attr() *nfs3.Fattr { return &i.attr }

// Handle returns the handle of the file.
func (i *Info) Handle() nfs3.FH { return i.handle }

// size returns the length of a file. A server may claim more than an int64 holds.
func size(a *nfs3.Fattr) int64 { return int64(min(a.Size, maxOffset)) }
