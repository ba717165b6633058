package nfsfs

import (
	"context"
	"io/fs"
	"os"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// Open opens a file for reading, or a directory for listing.
func (f *FS) Open(ctx context.Context, name string) (*File, error) {
	return f.OpenFile(ctx, name, os.O_RDONLY, 0)
}

// Create opens a file for reading and writing. It makes the file with mode 0666 (there is no
// umask), or truncates the one that exists.
func (f *FS) Create(ctx context.Context, name string) (*File, error) {
	return f.OpenFile(ctx, name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o666)
}

const (
	accessMode = os.O_RDONLY | os.O_WRONLY | os.O_RDWR
	knownFlags = accessMode | os.O_APPEND | os.O_CREATE | os.O_EXCL | os.O_SYNC | os.O_TRUNC
)

// OpenFile opens a file. The File fails when ctx ends. The flags are those of package os: O_RDONLY,
// O_WRONLY or O_RDWR, and O_APPEND, O_CREATE, O_EXCL, O_SYNC and O_TRUNC; others are an error. A
// new file has the permissions perm; there is no umask. OpenFile asks the server for the
// permissions that the flags need (ACCESS), so a lack of them shows here.
//
// With O_APPEND, data is written at the end that the file has just before the WRITE. NFS version 3
// has no atomic append, so two writers may overwrite each other's data. With O_SYNC a write returns
// when its data is on stable storage.
func (f *FS) OpenFile(ctx context.Context, name string, flag int, perm fs.FileMode) (*File, error) {
	o := &File{fs: f, ctx: ctx, name: name,
		reads:  flag&accessMode != os.O_WRONLY,
		writes: flag&accessMode != os.O_RDONLY,
		append: flag&os.O_APPEND != 0}
	if flag&os.O_SYNC == os.O_SYNC {
		o.stable = nfs3.FileSync
	}
	if err := o.open(ctx, flag, perm); err != nil {
		return nil, pathError("open", name, err)
	}
	return o, nil
}

// OpenInfo opens a listed file for reading, by its handle: it does not look up the name, which is
// for errors and Stat. If the file has been removed, the File's methods fail with fs.ErrNotExist
// (NFS3ERR_STALE).
func (f *FS) OpenInfo(ctx context.Context, name string, i *Info) (*File, error) {
	o := &File{fs: f, ctx: ctx, name: name, handle: i.handle, reads: true}
	var err error
	if o.rsize, o.wsize, err = f.sizes(ctx); err == nil && i.attr.Type != nfs3.TypeReg {
		err = invalid{errSpecial}
	}
	if err != nil {
		return nil, pathError("open", name, err)
	}
	o.init()
	return o, nil
}

// CreateUnique makes a file and opens it for reading and writing. The name must be one that nobody
// else uses, such as a random one. It takes one call where O_EXCL takes two, because the server
// need not check that the name is new. A repeated call finds the file that the first has made. how
// says how stable each WRITE is; nfs3.FileSync is like O_SYNC.
func (f *FS) CreateUnique(
	ctx context.Context, name string, how nfs3.StableHow, perm fs.FileMode,
) (*File, error) {
	o := &File{fs: f, ctx: ctx, name: name, reads: true, writes: true, stable: how}
	err := f.names.fresh(func() (err error) {
		if o.rsize, o.wsize, err = f.sizes(ctx); err != nil {
			return err
		}
		p, err := f.names.leaf(ctx, name)
		if err != nil {
			return err
		}
		set := nfs3.CreateHow{Mode: nfs3.Unchecked, Set: nfs3.Sattr{Mode: SattrMode(perm)}}
		made, err := f.c.Create(ctx, p.dir, p.base, set)
		o.handle = made.File
		return err
	})
	if err != nil {
		return nil, pathError("open", name, err)
	}
	o.init()
	return o, nil
}

func (o *File) open(ctx context.Context, flag int, perm fs.FileMode) (err error) {
	if flag&^knownFlags != 0 || flag&accessMode == accessMode {
		return invalid{errFlags}
	}
	if o.rsize, o.wsize, err = o.fs.sizes(ctx); err != nil {
		return err
	}
	o.init()
	var n node
	var made bool
	to := opening{names: &o.fs.names, name: o.name, flag: flag, perm: perm}
	if err := o.fs.names.fresh(func() (err error) {
		n, made, err = to.reach(ctx)
		return err
	}); err != nil {
		return err
	}
	o.handle, o.dir = n.file, n.isDir()
	switch {
	case made:
		return nil // whoever made a file may use it, whatever its permissions
	case o.dir && (o.writes || flag&os.O_CREATE != 0):
		return failed(nfs3.ProcAccess, n.base, nfs3.ErrIsDir)
	case !o.dir && n.attr.Type != nfs3.TypeReg:
		return invalid{errSpecial}
	}
	if err := o.permitted(ctx); err != nil {
		return err
	}
	if flag&os.O_TRUNC != 0 && !o.dir {
		_, err = o.fs.c.SetAttr(ctx, o.handle, sized(0), nil)
	}
	return err
}

// permitted asks the server whether the file may be used as it was opened.
func (o *File) permitted(ctx context.Context) error {
	var want nfs3.Access
	if o.reads {
		want |= nfs3.AccessRead
	}
	if o.writes {
		want |= nfs3.AccessModify | nfs3.AccessExtend
	}
	got, err := o.fs.c.Access(ctx, o.handle, want)
	if err == nil && got&want != want {
		err = failed(nfs3.ProcAccess, "", nfs3.ErrAcces)
	}
	return err
}
