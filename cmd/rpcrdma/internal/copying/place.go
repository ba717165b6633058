package copying

import (
	"context"
	"io"
	"io/fs"
	"iter"
	"time"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsfs"
)

// place is one of the two sides of a copy: a directory of this host, or an export. Names in it are
// separated by slashes; what a name is below is not followed out of the place. Its errors are
// *placeErrors.
type place interface {
	// show returns a name as messages have it: a path of this host, or a URL.
	show(name string) string

	lstat(ctx context.Context, name string) (details, error)
	// list yields what is in a directory. An error with a name is about that alone.
	list(ctx context.Context, name string) iter.Seq2[details, error]
	readlink(ctx context.Context, name string) (string, error)
	// open opens a regular file: that which was listed, if it is known, or else that of the name.
	open(ctx context.Context, name string, known *details) (content, error)
	// read reads a file that was opened from its beginning, until p is full or the file ends.
	read(file content, p []byte) (int, error)
	// state returns the details of an open file as they are now, or were when read had read it.
	state(file content) (details, error)

	// hold has the server be asked once where a directory is, until release is called, for all that
	// is done in it.
	hold(ctx context.Context, name string) (release func())
	// create makes a file of a temporary name, with the permissions that the umask leaves. A small
	// one is written by one call. It is written until ctx ends. An error that the server has not
	// sent does not say that there is none.
	create(ctx context.Context, name string, perm fs.FileMode, small bool) (content, error)
	// reopen opens a regular file that only this name leads to, to read and write it.
	reopen(ctx context.Context, name string) (content, error)
	mkdir(ctx context.Context, name string, perm fs.FileMode) error
	symlink(ctx context.Context, target, name string) error
	// keep gives a file, or a link itself, mode and owner of d, and the times if they are asked
	// for. Who may not give away files does without the owner, and without the bits that let others
	// act as the owner. A file that was created, and stored, comes with its content.
	keep(ctx context.Context, name string, d details, times bool, file content) error
	// stored waits until a file that was created is safe where it is. It is not used any more but
	// to rename it.
	stored(file content) error
	// rename gives a file that was created, and stored, its name. Of a link there is no content.
	rename(ctx context.Context, from, to string, file content) error
	remove(ctx context.Context, name string) error
	// free returns how many bytes there is room for in a directory.
	free(ctx context.Context, name string) (int64, error)
}

// content is an open file of a place.
type content interface {
	io.Reader
	io.ReaderAt
	io.WriterTo
	io.Writer
	io.WriterAt
	io.ReaderFrom
	io.Seeker
	Truncate(size int64) error
	Close() error
}

// details are what a copy may keep of a file.
type details struct {
	name         string // without directories
	mode         fs.FileMode
	size         int64
	uid, gid     int // -1: not known
	atime, mtime time.Time
	ctime        time.Time // zero where the system does not tell

	listed *nfsfs.Info // of a file of a server
}

// setID are the bits that a file does not keep when its owner is not kept.
const setID = fs.ModeSetuid | fs.ModeSetgid

// kept are all bits of a mode that chmod can change.
const kept = fs.ModePerm | setID | fs.ModeSticky
