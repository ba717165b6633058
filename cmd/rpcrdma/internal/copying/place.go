package copying

import (
	"context"
	"io"
	"io/fs"
	"iter"
	"time"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsfs"
)

// place is one of the two sides of a copy: a directory of this host, or an export. Names in it have
// slashes as separators, and cannot lead out of the place, not by links either.
type place interface {
	// show returns a name for messages: a path of this host, or a URL.
	show(name string) string

	lstat(ctx context.Context, name string) (details, error)
	// list yields the contents of a directory. An error together with a name is about that entry
	// alone.
	list(ctx context.Context, name string) iter.Seq2[details, error]
	readlink(ctx context.Context, name string) (string, error)
	// open opens a regular file: the one that was listed, if d has it, or else the one with the
	// name.
	open(ctx context.Context, name string, known *details) (content, error)
	// read reads an open file from its beginning, until p is full or the file ends.
	read(file content, p []byte) (int, error)
	// state returns the details of an open file now, or after read has read it.
	state(file content) (details, error)

	// hold looks up a directory once for all operations in it, until release is called.
	hold(ctx context.Context, name string) (release func())
	// create makes a file with a temporary name and permissions less the umask. A small file is
	// written by one call. Writing ends with ctx. After an error that the server did not send, the
	// file may exist.
	create(ctx context.Context, name string, perm fs.FileMode, small bool) (content, error)
	// reopen opens a regular file that has no other name, for reading and writing.
	reopen(ctx context.Context, name string) (content, error)
	mkdir(ctx context.Context, name string, perm fs.FileMode) error
	symlink(ctx context.Context, target, name string) error
	// keep sets mode and owner of a file, or of a link itself, to those of d, and with times also
	// the times. If the caller may not give files away, keep leaves the owner, and drops
	// set-user-ID and set-group-ID. content is that of a file that was created and stored, or nil.
	keep(ctx context.Context, name string, d details, times bool, file content) error
	// stored waits until a created file is stored. Afterwards it may only be renamed.
	stored(file content) error
	// rename gives a stored file its final name. For a link, content is nil.
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
	ctime        time.Time // zero if the system does not tell

	listed *nfsfs.Info // set for files of servers
}

// setID are the bits that a copy drops if it does not keep the owner.
const setID = fs.ModeSetuid | fs.ModeSetgid

// kept are the bits of a mode that -p keeps.
const kept = fs.ModePerm | setID | fs.ModeSticky
