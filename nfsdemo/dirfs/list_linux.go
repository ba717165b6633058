package dirfs

import (
	"bytes"
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// Fields of a struct linux_dirent64, of which getdents64(2) fills a buffer.
const (
	direntOff  = 8 // behind the inode number: the position behind the entry
	direntLen  = 16
	direntType = 18
	direntName = 19
)

// listBuffer is the size of the buffer in bytes.
const listBuffer = 32 << 10

// lister reads the entries of a directory.
type lister struct {
	fd  int
	buf []byte
	at  int // in buf, of the entry that next has found
	len int // of it; 0 when next shall find it again
	end int // of the entries in buf
	err error

	// The entry that next has found.
	ino  uint64
	off  int64 // where the next one is found
	kind byte  // unix.DT_REG and so on
}

func newLister(fd int) *lister { return &lister{fd: fd, buf: make([]byte, listBuffer)} }

// next finds the entry that follows. It reports false at the end, and at an error, which is
// in err.
func (l *lister) next() bool {
	if l.at += l.len; l.at == l.end {
		l.at, l.len = 0, 0
		l.end, l.err = retry(func() (int, error) { return unix.Getdents(l.fd, l.buf) })
		if l.err != nil || l.end == 0 {
			l.end = 0
			return false
		}
	}
	e := l.buf[l.at:l.end]
	l.ino = binary.NativeEndian.Uint64(e)
	l.off = int64(binary.NativeEndian.Uint64(e[direntOff:]))
	l.len = int(binary.NativeEndian.Uint16(e[direntLen:]))
	l.kind = e[direntType]
	return true
}

// again has next find the same entry once more.
func (l *lister) again() { l.len = 0 }

// seek moves to a position that an entry's off told; 0 is the beginning.
func (l *lister) seek(off int64) error {
	l.at, l.len, l.end = 0, 0, 0
	_, err := unix.Seek(l.fd, off, unix.SEEK_SET)
	return err
}

// cname points to the entry's name, which ends with a NUL.
func (l *lister) cname() *byte { return &l.buf[l.at+direntName] }

func (l *lister) name() string {
	p := l.buf[l.at+direntName : l.at+l.len]
	return string(p[:bytes.IndexByte(p, 0)])
}

// dots reports whether the entry is "." or "..".
func (l *lister) dots() bool {
	p := l.buf[l.at+direntName : l.at+l.len]
	return p[0] == '.' && (p[1] == 0 || p[1] == '.' && p[2] == 0)
}
