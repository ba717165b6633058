package nfsfs

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
)

// Open opens a file to read, or a directory to list.
func (f *FS) Open(ctx context.Context, name string) (*File, error) {
	return f.OpenFile(ctx, name, os.O_RDONLY, 0)
}

// Create makes a file with the permissions 0666, from which no umask takes any, or truncates the one that is there, and opens it to read and
// write.
func (f *FS) Create(ctx context.Context, name string) (*File, error) {
	return f.OpenFile(ctx, name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o666)
}

const (
	accessMode = os.O_RDONLY | os.O_WRONLY | os.O_RDWR
	knownFlags = accessMode | os.O_APPEND | os.O_CREATE | os.O_EXCL | os.O_SYNC | os.O_TRUNC
)

// OpenFile opens a file, for as long as ctx lasts. The flags are those of package os: O_RDONLY, O_WRONLY or O_RDWR, and
// O_APPEND, O_CREATE, O_EXCL, O_SYNC and O_TRUNC; others are an error. A new file has the permissions perm; there is no
// umask. The server is asked now for what the flags need (ACCESS), so that it is Open that fails for lack of permission.
//
// With O_APPEND, data is written where the file ended just before: two who append to the same file may overwrite each
// other, since NFS version 3 cannot append. With O_SYNC a write returns when its data is on stable storage.
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
	if err := o.fs.fresh(func() (err error) {
		n, made, err = o.fs.reach(ctx, o.name, flag, perm)
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

// reach finds the file to open, or makes it.
func (f *FS) reach(ctx context.Context, name string, flag int, perm fs.FileMode) (n node, made bool, err error) {
	switch {
	case flag&os.O_CREATE == 0:
		n, err = f.find(ctx, name, follow)
		return n, false, err
	case flag&os.O_EXCL != 0:
		p, err := f.parent(ctx, name)
		if err == nil && p.slash {
			err = failed(nfs3.ProcCreate, p.base, nfs3.ErrIsDir)
		}
		if err != nil {
			return node{}, false, err
		}
		o, err := f.createExclusive(ctx, p, perm)
		return node{dir: p.dir, base: p.base, file: o.File, attr: nfs3.Fattr{Type: nfs3.TypeReg}}, true, err
	}
	// Another may remove the file after it was seen to exist, and again.
	for range 8 {
		n, err = f.find(ctx, name, follow)
		if !errors.Is(err, nfs3.ErrNoEnt) || n.base == "" {
			return n, false, err
		}
		var o nfsclient.Object
		how := nfs3.CreateHow{Mode: nfs3.Guarded, Set: nfs3.Sattr{Mode: SattrMode(perm)}}
		o, err = f.c.Create(ctx, n.dir, n.base, how)
		if !errors.Is(err, nfs3.ErrExist) {
			n.file, n.attr.Type = o.File, nfs3.TypeReg
			return n, true, err
		}
	}
	return n, false, err
}

// createExclusive makes a file that must not exist. A call that a transport has to repeat finds the file of its first
// execution by the verifier, and is no ErrExist (RFC 1813 section 3.3.8). The server may keep the verifier in the
// times, so they are set, too.
func (f *FS) createExclusive(ctx context.Context, p place, perm fs.FileMode) (nfsclient.Object, error) {
	how := nfs3.CreateHow{Mode: nfs3.Exclusive}
	if _, err := rand.Read(how.Verf[:]); err != nil {
		return nfsclient.Object{}, err
	}
	set := nfs3.Sattr{Mode: SattrMode(perm)}
	o, err := f.c.Create(ctx, p.dir, p.base, how)
	if errors.Is(err, nfs3.ErrNotSupp) {
		return f.c.Create(ctx, p.dir, p.base, nfs3.CreateHow{Mode: nfs3.Guarded, Set: set})
	}
	if err != nil {
		return o, err
	}
	now := nfs3.SetTime{How: nfs3.ToServerTime}
	set.Atime, set.Mtime = now, now
	if _, err = f.c.SetAttr(ctx, o.File, set, nil); err != nil {
		_ = f.c.Remove(ctx, p.dir, p.base) // nobody shall find it with attributes that nobody chose
	}
	return o, err
}
