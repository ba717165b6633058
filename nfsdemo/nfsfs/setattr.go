package nfsfs

import (
	"context"
	"io/fs"
	"math"
	"time"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// SetAttr changes attributes of a file. It follows symbolic links.
func (f *FS) SetAttr(ctx context.Context, name string, set nfs3.Sattr) error {
	return f.setAttr(ctx, "setattr", name, follow, set)
}

// LSetAttr is SetAttr, but changes a symbolic link itself.
func (f *FS) LSetAttr(ctx context.Context, name string, set nfs3.Sattr) error {
	return f.setAttr(ctx, "lsetattr", name, noFollow, set)
}

func (f *FS) setAttr(ctx context.Context, op, name string, last bool, set nfs3.Sattr) error {
	n, err := f.names.find(ctx, name, last)
	if err == nil {
		_, err = f.c.SetAttr(ctx, n.file, set, nil)
	}
	return pathError(op, name, err)
}

// Chmod sets the permissions, and setuid, setgid and sticky. It follows symbolic links.
func (f *FS) Chmod(ctx context.Context, name string, mode fs.FileMode) error {
	return f.setAttr(ctx, "chmod", name, follow, nfs3.Sattr{Mode: SattrMode(mode)})
}

// Chown sets owner and group; -1 leaves one unchanged. It follows symbolic links.
func (f *FS) Chown(ctx context.Context, name string, uid, gid int) error {
	var set nfs3.Sattr
	for _, id := range []struct {
		id int
		to *nfs3.Set32
	}{{uid, &set.UID}, {gid, &set.GID}} {
		if id.id < -1 || id.id > math.MaxUint32 {
			return pathError("chown", name, fs.ErrInvalid)
		}
		if id.id >= 0 {
			*id.to = nfs3.Set32{Set: true, To: uint32(id.id)}
		}
	}
	return f.setAttr(ctx, "chown", name, follow, set)
}

// Chtimes sets the access and modification times. A zero time leaves one unchanged. NFS has the
// times from 1970 to 2106; others are fs.ErrInvalid. Chtimes follows symbolic links.
func (f *FS) Chtimes(ctx context.Context, name string, atime, mtime time.Time) error {
	var set nfs3.Sattr
	err := setTime(&set.Atime, atime)
	if err == nil {
		err = setTime(&set.Mtime, mtime)
	}
	if err != nil {
		return pathError("chtimes", name, err)
	}
	return f.setAttr(ctx, "chtimes", name, follow, set)
}

func setTime(to *nfs3.SetTime, t time.Time) error {
	if t.IsZero() {
		return nil
	}
	at, ok := nfs3.TimeOf(t)
	if !ok {
		return invalid{errTime}
	}
	*to = nfs3.SetTime{How: nfs3.ToClientTime, To: at}
	return nil
}

// Truncate sets the size of a file. It follows symbolic links.
func (f *FS) Truncate(ctx context.Context, name string, size int64) error {
	if size < 0 {
		return pathError("truncate", name, invalid{errNegative})
	}
	return f.setAttr(ctx, "truncate", name, follow, sized(size))
}

// sized returns attributes that set a size.
func sized(n int64) nfs3.Sattr { return nfs3.Sattr{Size: nfs3.Set64{Set: true, To: uint64(n)}} }
