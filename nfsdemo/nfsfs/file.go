package nfsfs

import (
	"context"
	"io"
	"io/fs"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// File is an open file. It uses the context of Open: when that ends, its methods fail. They may be
// called concurrently. Methods that use the offset wait for one another, and Close waits for all.
//
// Written data is safe when Sync or Close has returned nil. Until then it stays in memory, at most
// Config.MaxUncommitted bytes, and is written again if the server restarts. In between, reads may
// return the old data.
//
// Two Files of the same file do not know of each other. What one writes again after a restart may
// replace what the other has written since. Call Sync before you set the times of a file.
type File struct {
	fs           *FS
	ctx          context.Context
	name         string
	handle       nfs3.FH
	dir          bool
	reads        bool // opened for reading
	writes       bool // opened for writing
	append       bool
	stable       nfs3.StableHow // of WRITEs
	rsize, wsize int            // bytes of a READ and a WRITE
	unstable     unstable

	life   sync.Mutex // guards users and closed
	users  int        // methods under way
	closed bool
	idle   sync.Cond // Close waits for users to be 0

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

// Name returns the name that was passed to Open.
func (f *File) Name() string { return f.name }

// enter begins a method. It fails if the file is closed.
func (f *File) enter() error {
	f.life.Lock()
	defer f.life.Unlock()
	if f.closed {
		return fs.ErrClosed
	}
	f.users++
	return nil
}

// leave ends a method.
func (f *File) leave() {
	f.life.Lock()
	f.users--
	if f.users == 0 {
		f.idle.Broadcast()
	}
	f.life.Unlock()
}

// end closes the file to new methods, and waits for those under way.
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

// err wraps an error with an operation and the file's name.
func (f *File) err(op string, err error) error { return pathError(op, f.name, err) }

func (f *File) init() {
	f.idle.L = &f.life
	f.unstable.init(f)
}

// Stat returns the attributes that the file has now.
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

// Sync waits until all written data is on stable storage (COMMIT). If it fails, data is lost, and
// every later Sync and Close fails too.
func (f *File) Sync() error {
	if err := f.enter(); err != nil {
		return f.err("sync", err)
	}
	defer f.leave()
	return f.err("sync", f.unstable.sync())
}

// Close syncs like Sync, and closes the file.
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
