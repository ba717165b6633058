package memfs

import (
	"cmp"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// Limits of this file system. Sizes and lengths are in bytes.
const (
	DefaultCapacity = 4 << 30
	MaxFileSize     = math.MaxInt64
	MaxName         = 255
	MaxPath         = 4095  // of a symbolic link
	MaxLinks        = 65000 // names of a file that is not a directory
)

// Charges for things other than pages, in bytes. They are about what these take.
const (
	nodeCharge = 512 // a file
	nameCharge = 128 // a name, besides its bytes
)

// chargeOf returns the charge for a name.
func chargeOf(name string) int64 { return nameCharge + int64(len(name)) }

// Config configures a file system. The zero value is usable.
type Config struct {
	// Capacity is roughly the memory in bytes for everything: the pages of files, 512 for each
	// file, 128 plus its length for each name, and the paths of symbolic links. 0 means
	// DefaultCapacity. Data in flight, and pages kept for it, come on top.
	Capacity int64
	// RootMode is the mode of the root directory; 0 means 0755.
	RootMode uint32
	// RootUID and RootGID own the root directory.
	RootUID, RootGID uint32
}

// FS is a file system in memory. It implements vfs.FS.
type FS struct {
	id       uint64
	key      []byte // of the handles
	capacity int64
	root     *node

	pages  pagePool
	leases sync.Pool // *lease
	stages sync.Pool // *stage

	used atomic.Int64 // bytes charged, not above capacity

	tree   sync.RWMutex // guards what follows, and the contents of directories
	nodes  map[uint64]*node
	lastID uint64
}

var _ vfs.FS = (*FS)(nil)

// New returns an empty file system. It fails if the capacity is too small for a root directory.
func New(cfg Config) (*FS, error) {
	random := make([]byte, 8+32)
	rand.Read(random)
	fs := &FS{
		id:       binary.BigEndian.Uint64(random),
		key:      random[8:],
		capacity: cmp.Or(cfg.Capacity, DefaultCapacity),
		nodes:    make(map[uint64]*node),
	}
	if !fs.charge(nodeCharge) {
		return nil, fmt.Errorf("memfs: capacity of %d bytes: %w", cfg.Capacity, nfs3.ErrNoSpc)
	}
	fs.pages.most = min(fs.capacity, math.MaxInt64-spare) + spare
	root := fs.newNode(nfs3.TypeDir, cmp.Or(cfg.RootMode, 0o755))
	root.uid, root.gid = cfg.RootUID, cfg.RootGID
	root.parent = root
	fs.root = root
	fs.nodes[root.id] = root
	return fs, nil
}

// ID returns a random number, so handles of another FS are never valid here.
func (fs *FS) ID() uint64 { return fs.id }

// Root returns the handle of the root directory.
func (fs *FS) Root() nfs3.FH { return fs.root.handle }

// Info returns the limits and properties of the file system.
func (fs *FS) Info() vfs.FSInfo {
	return vfs.FSInfo{
		MaxFileSize: MaxFileSize,
		TimeDelta:   nfs3.Time{Nsec: 1},
		Properties:  nfs3.FSFLink | nfs3.FSFSymlink | nfs3.FSFHomogeneous | nfs3.FSFCanSetTime,
		PathConf: nfs3.PathConf{LinkMax: MaxLinks, NameMax: MaxName, NoTrunc: true, ChownRestricted: true,
			CasePreserving: true},
		NonBlocking: true,
	}
}

// charge adds n bytes, which may be negative, to those used. It returns false if that would exceed
// the capacity.
func (fs *FS) charge(n int64) bool {
	for {
		used := fs.used.Load()
		if n > 0 && n > fs.capacity-used {
			return false
		}
		if fs.used.CompareAndSwap(used, used+n) {
			return true
		}
	}
}

// now returns the time in nanoseconds since 1970 UTC, or last+1 if that is later, so that every
// change shows in the times.
func now(last int64) int64 { return max(time.Now().UnixNano(), last+1) }
