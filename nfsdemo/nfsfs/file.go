package nfsfs

import (
	"context"
	"io"
	"io/fs"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// File is an open file. Its context is that of Open: when that ends, its methods fail. They may be
// called concurrently; those that use the offset wait for one another, and Close waits for all.
//
// What is written is safe when Sync or Close has returned nil. Until then it is in memory, at most
// Config.MaxUncommitted bytes, and if the server restarts it is written again. Reads see what the
// server has: from a restart until then that is the old data. Two Files of the same file do not
// know of each other: what one writes again can take the place of what the other wrote later. Who
// sets times calls Sync before.
type File struct {
	fs           *FS
	ctx          context.Context
	name         string
	handle       nfs3.FH
	dir          bool
	reads        bool // opened to
	writes       bool
	append       bool
	stable       nfs3.StableHow // of WRITEs
	rsize, wsize int            // bytes of a READ and a WRITE
	unstable     unstable

	life   sync.Mutex // guards users and closed
	users  int        // methods under way
	closed bool
	idle   sync.Cond // Close waits on it

	offset sync.Mutex // guards what follows
	off    int64
	list   *listing
}

var (
	_ fs.File            = (*File)(nil)
	_ fs.ReadDirFile     = (*File)(nil)
	_ io.ReadWriteSeeker = (*File)(nil)
	_ io.ReaderAt        = (*File)(nil)
	_ io.WriterAt        = (*File)(nil)
	_ io.ReaderFrom      = (*File)(nil)
	_ io.WriterTo        = (*File)(nil)
)

// Name returns the name with which the file was opened.
func (f *File) Name() string { return f.name }

// enter begins a method, leave ends it.
func (f *File) enter() error {
	f.life.Lock()
	defer f.life.Unlock()
	if f.closed {
		return fs.ErrClosed
	}
	f.users++
	return nil
}

func (f *File) leave() {
	f.life.Lock()
	f.users--
	if f.users == 0 {
		f.idle.Broadcast()
	}
	f.life.Unlock()
}

// end closes the file for further methods and waits for those under way.
func (f *File) end() error {
	f.life.Lock()
	defer f.life.Unlock()
	if f.closed {
		return fs.ErrClosed
	}
	f.closed = true
	for f.users > 0 {
		f.idle.Wait()
	}
	return nil
}

// err returns err with operation and name.
func (f *File) err(op string, err error) error { return pathError(op, f.name, err) }

func (f *File) init() {
	f.idle.L = &f.life
	f.unstable.init(f)
}

// Stat tells about the file as it is now.
func (f *File) Stat() (fs.FileInfo, error) {
	if err := f.enter(); err != nil {
		return nil, f.err("stat", err)
	}
	defer f.leave()
	a, err := f.fs.c.GetAttr(f.ctx, f.handle)
	if err != nil {
		return nil, f.err("stat", err)
	}
	return &Info{baseName(f.name), f.handle, a}, nil
}

// Sync waits until all that was written is on stable storage (COMMIT). Once it has failed, so does
// each later one, and Close: data is lost.
func (f *File) Sync() error {
	if err := f.enter(); err != nil {
		return f.err("sync", err)
	}
	defer f.leave()
	return f.err("sync", f.unstable.sync())
}

// Close is Sync and makes the file unusable.
func (f *File) Close() error {
	if err := f.end(); err != nil {
		return f.err("close", err)
	}
	if f.list != nil {
		f.list.stop()
	}
	err := f.unstable.sync()
	f.unstable.drop()
	return f.err("close", err)
}
