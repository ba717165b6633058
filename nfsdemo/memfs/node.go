package memfs

import (
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// node is a file or a directory.
type node struct {
	fs     *FS
	id     uint64
	handle nfs3.FH
	kind   nfs3.FileType
	verf   nfs3.Verifier // of the exclusive CREATE that made it
	excl   bool          // there was one
	rdev   nfs3.Specdata // of a device
	path   string        // of a symbolic link

	dir          // of a directory; guarded by fs.tree
	parent *node // of a directory

	mu     sync.RWMutex // guards what follows
	mode   uint32
	nlink  uint32 // 0: the node is gone
	uid    uint32
	gid    uint32
	size   uint64
	mtime  int64 // nanoseconds since 1970 UTC
	ctime  int64
	blocks map[uint64]*page // absent ones are holes
	held   int64            // bytes charged for blocks, or for the path

	atime atomic.Int64
}

// newNode returns a node that is in no directory yet. fs.tree is held.
func (fs *FS) newNode(kind nfs3.FileType, mode uint32) *node {
	fs.lastID++
	n := &node{fs: fs, id: fs.lastID, handle: fs.makeHandle(fs.lastID), kind: kind, mode: mode, nlink: 1}
	n.mtime = now(0)
	n.ctime = n.mtime
	n.atime.Store(n.mtime)
	if kind == nfs3.TypeDir {
		n.nlink = 2
		n.dir.init()
	}
	return n
}

// Directories have a size because clients expect one.
const dirSize = 4096

// attr returns the attributes; n.mu is held.
func (n *node) attr() nfs3.Fattr {
	a := nfs3.Fattr{
		Type:   n.kind,
		Mode:   n.mode,
		Nlink:  n.nlink,
		UID:    n.uid,
		GID:    n.gid,
		Size:   n.size,
		Used:   uint64(n.held),
		Rdev:   n.rdev,
		FSID:   n.fs.id,
		FileID: n.id,
		Atime:  nfs3.TimeFromNanos(n.atime.Load()),
		Mtime:  nfs3.TimeFromNanos(n.mtime),
		Ctime:  nfs3.TimeFromNanos(n.ctime),
	}
	if n.kind == nfs3.TypeDir {
		a.Size, a.Used = dirSize, dirSize
	}
	return a
}

// pre returns the attributes before a change, post those after it; n.mu is held.
func (n *node) pre() nfs3.PreOpAttr {
	a := n.attr()
	return a.Pre()
}

func (n *node) post() nfs3.PostOpAttr { return nfs3.PostOpAttrOf(n.attr()) }

// attrs is post for who does not hold n.mu.
func (n *node) attrs() nfs3.PostOpAttr {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.post()
}

// same is what became of n when nothing did; n.mu is held.
func (n *node) same() nfs3.WccData { return nfs3.WccData{Before: n.pre(), After: n.post()} }

// changed moves ctime, modified mtime as well; n.mu is held.
func (n *node) changed() { n.ctime = now(n.ctime) }

func (n *node) modified() {
	n.changed()
	n.mtime = n.ctime
}

// accessed moves atime, but only when the file has changed since: more would make
// every READ a change that clients see (Linux calls this relatime).
// n.mu is held, for reading at least.
func (n *node) accessed() {
	if last := n.atime.Load(); last <= n.mtime || last <= n.ctime {
		n.atime.Store(now(n.ctime))
	}
}
