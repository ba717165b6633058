//go:build !linux && !darwin

package copying

import (
	"context"
	"errors"
	"io/fs"
)

const openNonblocking = 0

// localDetails takes from a FileInfo what a copy may keep: no owner, and one time.
func localDetails(info fs.FileInfo) details {
	return details{name: info.Name(), mode: info.Mode(), size: info.Size(), uid: -1, gid: -1, atime: info.ModTime(), mtime: info.ModTime()}
}

func (l *localDir) free(context.Context, string) (int64, error) { return 0, errors.ErrUnsupported }

// hardLinked reports whether a file is known to have more than one name, which it is not here.
func hardLinked(fs.FileInfo) bool { return false }

// linkTimes does nothing: these systems, or Go on them, set the times of what a link leads to.
func (l *localDir) linkTimes(string, details) error { return nil }
