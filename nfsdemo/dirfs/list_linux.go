package dirfs

import (
	"bytes"
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// Offsets of fields in struct linux_dirent64. getdents64(2) fills a buffer with these structs.
const (
	direntOff  = 8 // after the inode number: the position of the next entry
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
	at  int // offset in buf of the entry that next has found
	end int // end of the entries in buf
	err error

	dirent // the entry that next has found; nil: next finds the same again
}

func newLister(fd int) *lister { return &lister{fd: fd, buf: make([]byte, listBuffer)} }

// next finds the next entry. It returns false at the end, and after an error, which is in err.
func (l *lister) next() bool {
	if l.at += len(l.dirent); l.at == l.end {
		l.at, l.dirent = 0, nil
		l.end, l.err = retry(func() (int, error) { return unix.Getdents(l.fd, l.buf) })
		if l.err != nil || l.end == 0 {
			l.end = 0
			return false
		}
	}
	l.dirent = entryAt(l.buf[l.at:l.end])
	return true
}

// again makes next find the same entry again.
func (l *lister) again() { l.dirent = nil }

// seek moves to a position from an entry's off; 0 is the beginning.
func (l *lister) seek(off int64) error {
	l.at, l.end, l.dirent = 0, 0, nil
	_, err := unix.Seek(l.fd, off, unix.SEEK_SET)
	return err
}

// dirent is a struct linux_dirent64.
type dirent []byte

// entryAt returns the entry at the beginning of p.
func entryAt(p []byte) dirent { return p[:binary.NativeEndian.Uint16(p[direntLen:])] }

func (e dirent) ino() uint64 { return binary.NativeEndian.Uint64(e) }
func (e dirent) off() int64  { return int64(binary.NativeEndian.Uint64(e[direntOff:])) }
func (e dirent) kind() byte  { return e[direntType] }

// cname points to the name, which ends with a NUL.
func (e dirent) cname() *byte { return &e[direntName] }

func (e dirent) name() string {
	return string(e[direntName : direntName+bytes.IndexByte(e[direntName:], 0)])
}

// dots reports whether the entry is "." or "..".
func (e dirent) dots() bool {
	p := e[direntName:]
	return p[0] == '.' && (p[1] == 0 || p[1] == '.' && p[2] == 0)
}
