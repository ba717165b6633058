package nfsfs

import (
	"io/fs"
	"time"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// Info is what is known of a file, an fs.FileInfo and an fs.DirEntry. Sys returns a *nfs3.Fattr.
type Info struct {
	name   string
	handle nfs3.FH
	attr   nfs3.Fattr
}

var (
	_ fs.FileInfo = (*Info)(nil)
	_ fs.DirEntry = (*Info)(nil)
)

// Name is the last part of the name.
func (i *Info) Name() string { return i.name }

// Size is the length of a file in bytes.
func (i *Info) Size() int64 { return size(&i.attr) }

// Mode has the type and the permissions.
func (i *Info) Mode() fs.FileMode { return fileMode(&i.attr) }

// ModTime is when the data was last changed.
func (i *Info) ModTime() time.Time { return i.attr.Mtime.Time() }

// IsDir reports whether it is a directory.
func (i *Info) IsDir() bool { return i.attr.Type == nfs3.TypeDir }

// Sys is Attr.
func (i *Info) Sys() any { return &i.attr }

// Type is the type of Mode.
func (i *Info) Type() fs.FileMode { return i.Mode().Type() }

// Info returns i.
func (i *Info) Info() (fs.FileInfo, error) { return i, nil }

// String is as ls would print it.
func (i *Info) String() string { return fs.FormatFileInfo(i) }

// Attr is all that the server has told.
func (i *Info) Attr() *nfs3.Fattr { return &i.attr }

// Handle is the file's handle.
func (i *Info) Handle() nfs3.FH { return i.handle }

// size returns the length of a file, which a server may say to be more than Go has a number for.
func size(a *nfs3.Fattr) int64 { return int64(min(a.Size, maxOffset)) }
