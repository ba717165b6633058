package dirfs

import (
	"fmt"
	"log/slog"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// MaxName is the longest name in bytes.
const MaxName = 255

// FS is a directory of the host; it implements vfs.FS.
type FS struct {
	config Config
	logger *slog.Logger
	// super is whether the process may give files away and read what it does not own.
	super    bool
	uid, gid uint32 // of the process

	id      uint64
	sealer  sealer
	lock    *os.File // of the state directory, or nil
	table   table
	scanner scanner
	// renames is held while a file is renamed, and for reading while names are followed.
	renames sync.RWMutex

	root     *node
	rootPath *desc // in no cache: it stays open
	rootStat unix.Statx_t
	maxSize  uint64
	timeStep nfs3.Time
	linkMax  uint32

	paths   descCache // O_PATH
	data    descCache // of regular files and directories
	buffers buffers
	leases  sync.Pool // *lease
	mounted mounted

	stop     chan struct{} // closed by Close
	sweeping sync.WaitGroup
}

var _ vfs.FS = (*FS)(nil)

// Close syncs what was written and not committed, and closes all files. It is called when
// no method is being executed; none may be called any more. The error is that of a sync: data that clients think
// is on its way may be lost.
func (fs *FS) Close() error {
	close(fs.stop)
	fs.sweeping.Wait()
	err := fs.data.purge()
	_ = fs.paths.purge() // nothing is written by these
	unix.Close(fs.rootPath.fd)
	if lerr := fs.table.log.close(); err == nil {
		err = lerr
	}
	if fs.lock != nil {
		fs.lock.Close()
	}
	if err != nil {
		return fmt.Errorf("dirfs: %s: close: %w", fs.config.Path, err)
	}
	return nil
}

// ID is random, and kept in the state directory if there is one.
func (fs *FS) ID() uint64 { return fs.id }

// Root returns the handle of the root directory.
func (fs *FS) Root() nfs3.FH { return fs.handle(fs.root) }
