// Package nfsfs shows an NFS server's files as Go programs know files.
package nfsfs

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"time"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
)

// Config configures an FS. The zero value is usable.
type Config struct {
	// Export is the path of the root on the server: symbolic links that lead to
	// absolute paths below it are followed.
	Export string
	// Size is the bytes of one READ or WRITE; 0 means 1 MiB. It is lowered to what the server can do.
	Size int
	// Parallel is how many READs or WRITEs of one file are under way, at most MaxParallel; 0 means 8.
	Parallel int
	// Uncommitted is how many bytes of a file may be written and not committed; they are kept in memory
	// to be written again should the server lose them. 0 means 64 MiB.
	Uncommitted int
}

// MaxParallel is the largest Config.Parallel.
const MaxParallel = 4096

// FS is a tree of files on a server.
type FS struct{}

// New returns the tree below root.
func New(c *nfsclient.Client, root nfs3.FH, cfg Config) *FS { return &FS{} }

var errStub error = errors.ErrUnsupported

// The methods: names are slash-separated, relative to the root, of any bytes but NUL; "." and "" and "/" are the root.
// Errors are *fs.PathError or *os.LinkError.

func (f *FS) Open(ctx context.Context, name string) (*File, error)   { return nil, errStub }
func (f *FS) Create(ctx context.Context, name string) (*File, error) { return nil, errStub }
func (f *FS) OpenFile(ctx context.Context, name string, flag int, perm fs.FileMode) (*File, error) {
	return nil, errStub
}
func (f *FS) Stat(ctx context.Context, name string) (*Info, error)              { return nil, errStub }
func (f *FS) Lstat(ctx context.Context, name string) (*Info, error)             { return nil, errStub }
func (f *FS) Entries(ctx context.Context, name string) iter.Seq2[*Info, error]  { return nil }
func (f *FS) ReadDir(ctx context.Context, name string) ([]fs.DirEntry, error)   { return nil, errStub }
func (f *FS) ReadLink(ctx context.Context, name string) (string, error)         { return "", errStub }
func (f *FS) Mkdir(ctx context.Context, name string, perm fs.FileMode) error    { return errStub }
func (f *FS) MkdirAll(ctx context.Context, name string, perm fs.FileMode) error { return errStub }
func (f *FS) Mknod(ctx context.Context, name string, kind nfs3.FileType, rdev nfs3.Specdata, perm fs.FileMode) error {
	return errStub
}
func (f *FS) Remove(ctx context.Context, name string) error                          { return errStub }
func (f *FS) RemoveAll(ctx context.Context, name string) error                       { return errStub }
func (f *FS) Rename(ctx context.Context, from, to string) error                      { return errStub }
func (f *FS) Symlink(ctx context.Context, target, name string) error                 { return errStub }
func (f *FS) Link(ctx context.Context, from, name string) error                      { return errStub }
func (f *FS) SetAttr(ctx context.Context, name string, set nfs3.Sattr) error         { return errStub } // follows links
func (f *FS) LSetAttr(ctx context.Context, name string, set nfs3.Sattr) error        { return errStub } // does not
func (f *FS) Chmod(ctx context.Context, name string, mode fs.FileMode) error         { return errStub }
func (f *FS) Chown(ctx context.Context, name string, uid, gid int) error             { return errStub } // -1: leave
func (f *FS) Chtimes(ctx context.Context, name string, atime, mtime time.Time) error { return errStub } // zero: leave
func (f *FS) Truncate(ctx context.Context, name string, size int64) error            { return errStub }
func (f *FS) StatFS(ctx context.Context, name string) (nfs3.FSStat, error) {
	return nfs3.FSStat{}, errStub
}
func (f *FS) FSInfo(ctx context.Context) (nfs3.FSInfo, error) { return nfs3.FSInfo{}, errStub }

// View is the tree as an fs.FS: ReadDirFS, StatFS, ReadFileFS, SubFS, ReadLinkFS.
func (f *FS) View(ctx context.Context) fs.FS { return nil }

// Info is an fs.FileInfo and an fs.DirEntry; Sys returns *nfs3.Fattr.
type Info struct {
	name   string
	handle nfs3.FH
	attr   nfs3.Fattr
}

func (i *Info) Name() string               { return i.name }
func (i *Info) Size() int64                { return int64(i.attr.Size) }
func (i *Info) Mode() fs.FileMode          { return 0 }
func (i *Info) ModTime() time.Time         { return time.Time{} }
func (i *Info) IsDir() bool                { return false }
func (i *Info) Sys() any                   { return &i.attr }
func (i *Info) Type() fs.FileMode          { return 0 }
func (i *Info) Info() (fs.FileInfo, error) { return i, nil }
func (i *Info) Attr() *nfs3.Fattr          { return &i.attr }
func (i *Info) Handle() nfs3.FH            { return i.handle }

// File is an open file. Its context is that of Open: when that ends, its methods fail.
type File struct{}

func (f *File) Name() string                                 { return "" }
func (f *File) Stat() (fs.FileInfo, error)                   { return nil, errStub }
func (f *File) Read(p []byte) (int, error)                   { return 0, errStub }
func (f *File) ReadAt(p []byte, off int64) (int, error)      { return 0, errStub }
func (f *File) WriteTo(w io.Writer) (int64, error)           { return 0, errStub } // from the offset on
func (f *File) Write(p []byte) (int, error)                  { return 0, errStub }
func (f *File) WriteAt(p []byte, off int64) (int, error)     { return 0, errStub }
func (f *File) ReadFrom(r io.Reader) (int64, error)          { return 0, errStub } // to the offset on
func (f *File) Seek(offset int64, whence int) (int64, error) { return 0, errStub }
func (f *File) ReadDir(n int) ([]fs.DirEntry, error)         { return nil, errStub }
func (f *File) SetAttr(set nfs3.Sattr) error                 { return errStub }
func (f *File) Truncate(size int64) error                    { return errStub }
func (f *File) Sync() error                                  { return errStub } // commits
func (f *File) Close() error                                 { return errStub } // commits
