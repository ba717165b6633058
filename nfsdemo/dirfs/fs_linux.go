package dirfs

import (
	"cmp"
	"fmt"
	"os"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// MaxName is the longest name in bytes.
const MaxName = 255

// FS is a directory of the host. It implements vfs.FS.
type FS struct {
	tree    tree
	lock    *os.File // of the state directory, or nil
	buffers buffers

	stop     chan struct{} // closed by Close
	sweeping sync.WaitGroup
}

var _ vfs.FS = (*FS)(nil)

// Close syncs data that was written and not committed, and closes all files. No method may be under
// way, and none may be called afterwards. If it returns an error, data that clients have written
// may be lost.
func (fs *FS) Close() error {
	close(fs.stop)
	fs.sweeping.Wait()
	err := fs.tree.descs.close()
	if fs.tree.files != nil {
		err = cmp.Or(err, fs.tree.files.close())
	}
	if fs.lock != nil {
		fs.lock.Close()
	}
	if err != nil {
		return fmt.Errorf("dirfs: %s: close: %w", fs.tree.host.path, err)
	}
	return nil
}

// ID returns a random number, which is kept in the state directory if there is one.
func (fs *FS) ID() uint64 { return fs.tree.sealer.id }

// Root returns the handle of the root directory.
func (fs *FS) Root() nfs3.FH { return fs.tree.handle(fs.tree.root) }
