package dirfs

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// maxKernelHandle is the longest handle of the kernel's, in bytes, that fits one of NFS with what
// else is in that.
const maxKernelHandle = 36

// fileID tells a file of the host from all others, of earlier and of later: a handle of the
// kernel's, or a key.
type fileID struct {
	kernel bool
	kind   byte // of the kernel's handle
	n      byte // how many bytes of b are used
	b      [maxKernelHandle]byte
}

func (id *fileID) bytes() []byte { return id.b[:id.n] }

// key tells files apart that the kernel gives no handles of. Numbers of inodes are used again; the
// time at which a file was born tells them apart.
type key struct{ ino, gen uint64 }

const keyLen = 16 // in a fileID

// id returns the ID of a file that is known by its key.
func (k key) id() fileID {
	id := fileID{n: keyLen}
	binary.BigEndian.PutUint64(id.b[:], k.ino)
	binary.BigEndian.PutUint64(id.b[8:], k.gen)
	return id
}

// key returns the key of which id was made.
func (id *fileID) key() key {
	return key{binary.BigEndian.Uint64(id.b[:]), binary.BigEndian.Uint64(id.b[8:])}
}

// keyOf returns the key of a file. Where there are no times of birth, the generation is 0. The
// layers of an overlay number their files each for itself, which their devices tell apart.
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
