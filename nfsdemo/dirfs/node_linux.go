package dirfs

import (
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// key identifies a file of the host. Numbers of inodes are used again; the time at which a file was
// born tells them apart.
type key struct{ ino, gen uint64 }

// keyOf returns the key of a file. Where there are no times of birth, the generation is 0.
func keyOf(st *unix.Statx_t) key {
	k := key{ino: st.Ino}
	if st.Mask&unix.STATX_BTIME != 0 {
		k.gen = uint64(st.Btime.Sec)*1e9 + uint64(st.Btime.Nsec)
	}
	return k
}

// node is a file that a client has a handle of.
type node struct {
	key
	mac   [macLen]byte
	hints []hint      // guarded by table.mu; the last one that was right comes last
	gone  atomic.Bool // its last name was removed
	lost  atomic.Bool // data was not written back, which no COMMIT has told yet

	// mu makes an operation with the attributes before and after it a single
	// step. It is not held while a peer is waited for.
	mu sync.RWMutex
}

// hint is a name under which a file was seen. The host may have renamed it since.
type hint struct {
	parent key
	name   string
}
