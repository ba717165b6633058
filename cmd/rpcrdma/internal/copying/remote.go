package copying

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"math"
	"os"
	"path"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/remote"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsfs"
)

// remoteDir is an export, as a side of a copy.
type remoteDir struct {
	fs  *nfsfs.FS
	url reach.Target // of the root
}

// openRemote returns the export of a URL, and the name of the URL's file in it.
func openRemote(ctx context.Context, r *remote.Session, url string) (*remoteDir, string, error) {
	t, err := reach.ParseTarget(url)
	if err != nil {
		return nil, "", err
	}
	m, name, err := r.Open(ctx, url)
	if err != nil {
		return nil, "", words.About(url, err)
	}
	t.MountPort = 0 // it is not part of a file's name
	return &remoteDir{m.FS, t.At(path.Join("/", m.Root.Export))}, name, nil
}

// remoteSource returns the file that a URL names, and the last name in the URL, "/" if it has none.
func remoteSource(ctx context.Context, r *remote.Session, url string, recursive bool) (f Item, base string, err error) {
	from, name, err := openRemote(ctx, r, url)
	if err != nil {
		return Item{}, "", err
	}
	t, _ := reach.ParseTarget(url) // parsed before
	find := from.stat
	if recursive && !strings.HasSuffix(t.Path, "/") {
		find = from.lstat
	}
	d, err := find(ctx, name)
	switch {
	case err != nil:
		return Item{}, "", err
	case d.mode.IsDir() && !recursive:
		return Item{}, "", words.About(from.show(name), words.ErrDirectory)
	case !d.mode.IsDir() && strings.HasSuffix(t.Path, "/"):
		return Item{}, "", words.About(from.show(name), words.ErrNotDirectory)
	}
	return Item{details: d, from: from, name: name}, path.Base(t.Path), nil
}

// intoDir reports whether name is a directory to copy into. It fails if several files are copied
// and it is not, and if it is a link that leads nowhere.
func intoDir(ctx context.Context, to *remoteDir, as string, slash, several bool) (bool, error) {
	d, err := to.stat(ctx, as)
	switch {
	case err == nil && d.mode.IsDir():
		return true, nil
	case err == nil && (slash || several):
		return false, words.About(to.show(as), words.ErrNotDirectory)
	case errors.Is(err, fs.ErrNotExist):
		if _, err := to.lstat(ctx, as); err == nil {
			return false, words.About(to.show(as), words.ErrDangling)
		}
		if several {
			return false, words.About(to.show(as), words.ErrNoDirectory)
		}
		return false, nil
	}
	return false, err
}

func (x *remoteDir) show(name string) string { return x.url.At(path.Join(x.url.Path, name)).String() }

func (x *remoteDir) about(name string, err error) error {
	if err == nil {
		return nil
	}
	return words.About(x.show(name), err)
}

// remoteDetails returns what a copy may keep of a file of the server.
func remoteDetails(i *nfsfs.Info) details {
	a := i.Attr()
	return details{name: i.Name(), mode: i.Mode(), size: i.Size(), uid: int(a.UID), gid: int(a.GID),
		atime: a.Atime.Time(), mtime: a.Mtime.Time(), ctime: a.Ctime.Time(), listed: i}
}

func (x *remoteDir) lstat(ctx context.Context, name string) (details, error) {
	i, err := x.fs.Lstat(ctx, name)
	if err != nil {
		return details{}, x.about(name, err)
	}
	return remoteDetails(i), nil
}

// stat follows links.
func (x *remoteDir) stat(ctx context.Context, name string) (details, error) {
	i, err := x.fs.Stat(ctx, name)
	if err != nil {
		return details{}, x.about(name, err)
	}
	return remoteDetails(i), nil
}

func (x *remoteDir) list(ctx context.Context, name string) iter.Seq2[details, error] {
	return func(yield func(details, error) bool) {
		for i, err := range remote.Bounded(x.fs.Entries(ctx, name), remote.MostListed) {
			if i != nil && errors.As(err, new(nfs3.Status)) { // only this entry is unknown
				if !yield(details{}, x.about(path.Join(name, i.Name()), words.Unseen(err))) {
					return
				}
				continue
			}
			if err != nil {
				yield(details{}, x.about(name, err))
				return
			}
			if !yield(remoteDetails(i), nil) {
				return
			}
		}
	}
}

func (x *remoteDir) readlink(ctx context.Context, name string) (string, error) {
	to, err := x.fs.ReadLink(ctx, name)
	return to, x.about(name, err)
}

// remoteFile is an open file of a server.
type remoteFile struct {
	*nfsfs.File
	told *nfsfs.Info // from the READ that has read all of it; nil: there was none
}

func (x *remoteDir) open(ctx context.Context, name string, known *details) (content, error) {
	var f *nfsfs.File
	var err error
	if known != nil && known.listed != nil {
		f, err = x.fs.OpenInfo(ctx, name, known.listed)
	} else {
		f, err = x.fs.Open(ctx, name)
	}
	if err != nil {
		return nil, x.about(name, err)
	}
	return &remoteFile{File: f}, nil
}

func (x *remoteDir) read(file content, p []byte) (n int, err error) {
	f := file.(*remoteFile)
	n, f.told, err = f.ReadAtInfo(p, 0)
	if err == io.EOF {
		err = nil
	}
	return n, err
}

func (x *remoteDir) state(file content) (details, error) {
	f := file.(*remoteFile)
	if f.told != nil {
		return remoteDetails(f.told), nil
	}
	info, err := f.Stat()
	if err != nil {
		return details{}, err
	}
	return remoteDetails(info.(*nfsfs.Info)), nil
}

func (x *remoteDir) hold(ctx context.Context, name string) (release func()) {
	release, err := x.fs.Hold(ctx, name)
	if err != nil {
		return func() {} // operations in the directory will report the error
	}
	return release
}

func (x *remoteDir) create(
	ctx context.Context, name string, perm fs.FileMode, small bool,
) (content, error) {
	how := nfs3.Unstable
	if small {
		how = nfs3.FileSync // instead of COMMIT
	}
	ctx, made := lasting(ctx)
	f, err := x.fs.CreateUnique(ctx, name, how, perm.Perm()&^remote.Umask)
	made()
	if err != nil {
		return nil, x.about(name, err)
	}
	return &remoteFile{File: f}, nil
}

func (x *remoteDir) reopen(ctx context.Context, name string) (content, error) {
	there, err := x.fs.Lstat(ctx, name)
	if err != nil {
		return nil, x.about(name, err)
	}
	f, err := x.fs.OpenFile(ctx, name, os.O_RDWR, 0)
	if err != nil {
		return nil, x.about(name, err)
	}
	opened, err := f.Stat()
	if err == nil {
		a := opened.Sys().(*nfs3.Fattr)
		if a.Type != nfs3.TypeReg || a.Nlink > 1 || !remote.SameFile(there.Attr(), a) {
			err = errReopened
		}
	}
	if err != nil {
		f.Close()
		return nil, x.about(name, err)
	}
	return &remoteFile{File: f}, nil
}

func (x *remoteDir) mkdir(ctx context.Context, name string, perm fs.FileMode) error {
	return x.about(name, x.fs.Mkdir(ctx, name, perm.Perm()&^remote.Umask))
}

func (x *remoteDir) symlink(ctx context.Context, target, name string) error {
	return x.about(name, x.fs.Symlink(ctx, target, name))
}

func (x *remoteDir) keep(ctx context.Context, name string, d details, times bool, file content) error {
	apply := func(set nfs3.Sattr) error { return x.fs.LSetAttr(ctx, name, set) }
	if f, ok := file.(*remoteFile); ok {
		apply = f.SetAttr // without a LOOKUP
	}
	var set nfs3.Sattr
	if d.mode.Type() != fs.ModeSymlink {
		set.Mode = nfsfs.SattrMode(d.mode)
	}
	if times {
		set.Atime = nfs3.SetTime{How: nfs3.ToClientTime, To: nfs3.Nearest(d.atime)}
		set.Mtime = nfs3.SetTime{How: nfs3.ToClientTime, To: nfs3.Nearest(d.mtime)}
	}
	if d.uid < 0 {
		return x.about(name, apply(set))
	}
	set.UID = nfs3.Set32{Set: true, To: uint32(d.uid)}
	set.GID = nfs3.Set32{Set: true, To: uint32(d.gid)}
	err := apply(set)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrInvalid) {
		err = x.keepWithoutOwner(ctx, name, d, set)
	} else if err == nil && d.mode&setID != 0 && set.Mode.Set {
		// Servers clear these bits when the owner is set, even to the same one.
		err = apply(nfs3.Sattr{Mode: set.Mode})
	}
	return x.about(name, err)
}

// keepWithoutOwner sets what a caller may set without the right to give the file away: mode, times,
// and perhaps the group.
func (x *remoteDir) keepWithoutOwner(ctx context.Context, name string, d details, set nfs3.Sattr) error {
	has, err := x.fs.Lstat(ctx, name)
	if err != nil {
		return err
	}
	set.UID = nfs3.Set32{}
	group := set.GID
	set.GID = nfs3.Set32{}
	gid := has.Attr().GID
	if gid != group.To && x.fs.LSetAttr(ctx, name, nfs3.Sattr{GID: group}) == nil {
		gid = group.To
	}
	if set.Mode.Set && (gid != group.To || int(has.Attr().UID) != d.uid) {
		set.Mode = nfsfs.SattrMode(d.mode &^ setID)
	}
	return x.fs.LSetAttr(ctx, name, set)
}

// stored leaves the file open, so that rename can recognize it.
func (x *remoteDir) stored(file content) error { return file.(*remoteFile).Sync() }

func (x *remoteDir) rename(ctx context.Context, from, to string, file content) error {
	ctx, done := lasting(ctx)
	defer done()
	err := x.fs.Rename(ctx, from, to)
	if words.DoneBefore(err, nfs3.ErrNoEnt) && x.isFile(ctx, to, file) {
		return nil
	}
	return x.about(to, err)
}

// isFile reports whether a name leads to an open file.
func (x *remoteDir) isFile(ctx context.Context, name string, file content) bool {
	f, ok := file.(*remoteFile)
	if !ok {
		return false
	}
	there, err := x.fs.Lstat(ctx, name)
	if err != nil {
		return false
	}
	info, err := f.Stat()
	if err != nil {
		return false
	}
	a, ok := info.Sys().(*nfs3.Fattr)
	return ok && remote.SameFile(a, there.Attr())
}

func (x *remoteDir) remove(ctx context.Context, name string) error {
	return x.about(name, x.fs.Remove(ctx, name))
}

func (x *remoteDir) free(ctx context.Context, name string) (int64, error) {
	s, err := x.fs.StatFS(ctx, name)
	return int64(min(s.AvailBytes, math.MaxInt64)), x.about(name, err)
}
