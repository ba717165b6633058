package dirfs

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// maxKernelHandle is the longest kernel handle in bytes that fits into an NFS handle with the rest
// of that.
const maxKernelHandle = 36

// fileID identifies a file of the host, also among earlier and later ones. It is a kernel handle or
// a key.
type fileID struct {
	kernel bool
	kind   byte // of the kernel's handle
	n      byte // used bytes of b
	b      [maxKernelHandle]byte
}

func (id *fileID) bytes() []byte { return id.b[:id.n] }

// key identifies a file without a kernel handle. Inode numbers are reused; gen comes from the birth
// time and tells the files apart.
type key struct{ ino, gen uint64 }

const keyLen = 16 // in a fileID

// id returns the ID of a file that is known by its key.
func (k key) id() fileID {
	id := fileID{n: keyLen}
	binary.BigEndian.PutUint64(id.b[:], k.ino)
	binary.BigEndian.PutUint64(id.b[8:], k.gen)
	return id
}

// key returns the key in an ID.
func (id *fileID) key() key {
	return key{binary.BigEndian.Uint64(id.b[:]), binary.BigEndian.Uint64(id.b[8:])}
}

// keyOf returns the key of a file. If the file system has no birth times, gen is 0. The layers of
// an overlay have separate inode numbers; their device numbers tell them apart.
func (h *host) keyOf(st *unix.Statx_t) key {
	k := key{ino: st.Ino}
	if st.Mask&unix.STATX_BTIME != 0 {
		k.gen = uint64(st.Btime.Sec)*1e9 + uint64(st.Btime.Nsec)
	}
	if !h.onDevice(st) {
		k.gen ^= unix.Mkdev(st.Dev_major, st.Dev_minor) << 32
	}
	return k
}
