package nfsfs

import (
	"context"
	"io/fs"
	"os"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// Open opens a file to read, or a directory to list.
func (f *FS) Open(ctx context.Context, name string) (*File, error) {
	return f.OpenFile(ctx, name, os.O_RDONLY, 0)
}

// Create makes a file with the permissions 0666, from which no umask takes any, or truncates the
// one that is there, and opens it to read and write.
func (f *FS) Create(ctx context.Context, name string) (*File, error) {
	return f.OpenFile(ctx, name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o666)
}

const (
	accessMode = os.O_RDONLY | os.O_WRONLY | os.O_RDWR
	knownFlags = accessMode | os.O_APPEND | os.O_CREATE | os.O_EXCL | os.O_SYNC | os.O_TRUNC
)

// OpenFile opens a file, for as long as ctx lasts. The flags are those of package os: O_RDONLY,
// O_WRONLY or O_RDWR, and O_APPEND, O_CREATE, O_EXCL, O_SYNC and O_TRUNC; others are an error. A
// new file has the permissions perm; there is no umask. The server is asked now for what the flags
// need (ACCESS), so that it is Open that fails for lack of permission.
//
// With O_APPEND, data is written where the file ended just before: two who append to the same file
// may overwrite each other, since NFS version 3 cannot append. With O_SYNC a write returns when its
// data is on stable storage.
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

// OpenInfo opens a file to read, as it was listed: by its handle, so that the server is asked for
// nothing before it is read. The name is for errors and Stat. The file may have another name by
// now, or be gone: then what is done with it is fs.ErrNotExist (NFS3ERR_STALE).
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

// CreateUnique makes a file of a name that nobody else gives a file, such as a random one, and
// opens it to read and write. It takes one call where O_EXCL takes two: the server is not asked to
// see to it that the name is new, so that a call that is repeated finds the file that it has made.
// What is written is stored as how says, as O_SYNC does with nfs3.FileSync.
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
		return nil // whatever its permissions are, who has made it may use it
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

// permitted asks whether the file may be used as it was opened.
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
