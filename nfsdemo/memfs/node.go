package memfs

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// node is a file or a directory.
type node struct {
	fs     *FS
	id     uint64
	handle nfs3.FH
	kind   nfs3.FileType
	verf   nfs3.Verifier // of the exclusive CREATE that made it
	excl   bool          // it was made by an exclusive CREATE
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
	blocks map[uint64]*page // missing blocks are holes
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
		Atime:  nfs3.Nearest(time.Unix(0, n.atime.Load())),
		Mtime:  nfs3.Nearest(time.Unix(0, n.mtime)),
		Ctime:  nfs3.Nearest(time.Unix(0, n.ctime)),
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

// attrs is post without n.mu held.
func (n *node) attrs() nfs3.PostOpAttr {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.post()
}

// same returns the WccData of a node that was not changed. n.mu is held.
func (n *node) same() nfs3.WccData { return nfs3.WccData{Before: n.pre(), After: n.post()} }

// changed advances ctime; modified also advances mtime. n.mu is held.
func (n *node) changed() { n.ctime = now(n.ctime) }

func (n *node) modified() {
	n.changed()
	n.mtime = n.ctime
}

// accessed advances atime, but only if the file has changed since, like relatime in Linux.
// Otherwise every READ would be a change that clients see. n.mu is held, at least for reading.
func (n *node) accessed() {
	if last := n.atime.Load(); last <= n.mtime || last <= n.ctime {
		n.atime.Store(now(n.ctime))
	}
}
