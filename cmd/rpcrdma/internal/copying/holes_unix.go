//go:build linux || darwin

package copying

import (
	"errors"
	"iter"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// extentsOf yields the runs of data of a file up to size, as the file system tells them. That is
// the whole file if the file system does not know.
func extentsOf(f *os.File, size int64) iter.Seq2[extent, error] {
	return func(yield func(extent, error) bool) {
		for off := int64(0); off < size; {
			from, err := f.Seek(off, unix.SEEK_DATA)
			if errors.Is(err, syscall.ENXIO) { // only a hole follows
				return
			}
			to := size
			if err == nil {
				to, err = f.Seek(from, unix.SEEK_HOLE)
			}
			switch {
			case errors.Is(err, syscall.ENXIO): // the file has become shorter
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
