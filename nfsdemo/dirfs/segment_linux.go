package dirfs

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// segmentMagic is the beginning of a segment. The last byte is the version of the format.
const segmentMagic = "dirnames\x01"

// segmentPrefix is the beginning of the names of segments. An increasing number follows.
const segmentPrefix = "names."

// segment is a file of records. The addresses of records continue from one segment to the next.
type segment struct {
	file   *os.File
	number int
	base   int64 // the address of its beginning
	size   int64 // in bytes, of what was written
}

func (s *segment) end() int64 { return s.base + s.size }

// newSegment begins a segment, in a directory, or in an unnamed file if dir is "".
func newSegment(dir string, number int, base int64) (*segment, error) {
	var f *os.File
	var err error
	if dir == "" {
		f, err = unnamedFile()
	} else {
		path := filepath.Join(dir, segmentPrefix+strconv.Itoa(number))
		f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC|unix.O_NOFOLLOW, 0o600)
	}
	if err != nil {
		return nil, err
	}
	_, err = f.WriteAt([]byte(segmentMagic), 0)
	if err == nil && dir != "" {
		// Sync the contents before the name: an empty file after a crash could not be read.
		if err = f.Sync(); err == nil {
			err = syncDir(dir)
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &segment{f, number, base, int64(len(segmentMagic))}, nil
}

// unnamedFile returns a file that nobody else can open, and that is gone when it is closed.
func unnamedFile() (*os.File, error) {
	f, err := os.CreateTemp("", "rpcrdma-names")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// openSegments opens the segments in a directory, the oldest first.
func openSegments(dir string) (segs []*segment, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			closeSegments(segs)
		}
	}()
	for _, e := range entries {
		digits, ok := strings.CutPrefix(e.Name(), segmentPrefix)
		number, nerr := strconv.Atoi(digits)
		if !ok || nerr != nil {
			continue
		}
		f, err := openStateFile(filepath.Join(dir, e.Name()), os.O_RDWR)
		if err != nil {
			return segs, err
		}
		segs = append(segs, &segment{file: f, number: number})
		st, err := f.Stat()
		if err != nil {
			return segs, err
		}
		segs[len(segs)-1].size = st.Size()
		magic := make([]byte, len(segmentMagic))
		n, err := f.ReadAt(magic, 0)
		if err != nil && err != io.EOF {
			return segs, err
		}
		if last := len(magic) - 1; n > last && string(magic[:last]) == segmentMagic[:last] &&
			magic[last] != segmentMagic[last] {
			return segs, fmt.Errorf("%s is of version %d of the format, which this server does not know",
				f.Name(), magic[last])
		}
	}
	slices.SortFunc(segs, func(a, b *segment) int { return a.number - b.number })
	for i, s := range segs {
		if i > 0 {
			s.base = segs[i-1].end()
		}
	}
	return segs, nil
}

func closeSegments(segs []*segment) {
	for _, s := range segs {
		s.file.Close()
	}
}

// reader reads the records of a segment, up to the end that it had when the reader was made.
type reader struct {
	seg     *segment
	at      int64 // offset of the next record in the segment
	end     int64
	buf     []byte // bytes read and not used yet
	space   []byte
	damaged int64 // bytes that were not records
	err     error
}

func newReader(s *segment) *reader {
	return &reader{seg: s, at: min(int64(len(segmentMagic)), s.size), end: s.size,
		space: make([]byte, 256<<10)}
}

// next returns the next record and its address, or nil at the end or after an error. It skips bytes
// that are not a record.
func (r *reader) next() (record, int64) {
	for {
		if rec := recordAt(r.buf); rec != nil {
			at := r.seg.base + r.at
			r.skip(len(rec))
			return rec, at
		}
		if more := r.end - r.at - int64(len(r.buf)); len(r.buf) < recordMax && more > 0 {
			if !r.fill() {
				return nil, 0
			}
			continue
		}
		if len(r.buf) == 0 {
			return nil, 0
		}
		r.damaged++
		r.skip(1)
	}
}

func (r *reader) skip(n int) {
	r.buf = r.buf[n:]
	r.at += int64(n)
}

// fill reads on.
func (r *reader) fill() bool {
	have := copy(r.space, r.buf)
	more := min(int64(len(r.space)-have), r.end-r.at-int64(have))
	n, err := r.seg.file.ReadAt(r.space[have:have+int(more)], r.at+int64(have))
	r.buf = r.space[:have+n]
	if err != nil && err != io.EOF {
		r.err = err
		return false
	}
	if n == 0 {
		r.end = r.at + int64(have) // somebody else has truncated the file
	}
	return true
}
