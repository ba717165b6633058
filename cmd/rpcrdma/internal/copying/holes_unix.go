//go:build linux || darwin

package copying

import (
	"errors"
	"iter"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// extentsOf yields the runs of bytes, below size, that a file system says a file has. Those of a
// file system that does not know are the whole file.
func extentsOf(f *os.File, size int64) iter.Seq2[extent, error] {
	return func(yield func(extent, error) bool) {
		for off := int64(0); off < size; {
			from, err := f.Seek(off, unix.SEEK_DATA)
			if errors.Is(err, syscall.ENXIO) { // there are only holes behind
				return
			}
			to := size
			if err == nil {
				to, err = f.Seek(from, unix.SEEK_HOLE)
			}
			switch {
			case errors.Is(err, syscall.ENXIO): // it has become shorter
				return
			case errors.Is(err, syscall.EINVAL), errors.Is(err, syscall.ENOTSUP):
				from, to = off, size
			case err != nil:
				yield(extent{}, err)
				return
			}
			to = min(to, size)
			if from < to && !yield(extent{from, to}, nil) {
				return
			}
			off = max(to, from)
		}
	}
}
