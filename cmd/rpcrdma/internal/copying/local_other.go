//go:build !linux && !darwin

package copying

import (
	"context"
	"errors"
	"io/fs"
)

const openNonblocking = 0

// localDetails returns what a copy may keep of a file: no owner, and one time.
func localDetails(info fs.FileInfo) details {
	return details{name: info.Name(), mode: info.Mode(), size: info.Size(), uid: -1, gid: -1,
		atime: info.ModTime(), mtime: info.ModTime()}
}

func (l *localDir) free(context.Context, string) (int64, error) { return 0, errors.ErrUnsupported }

// hardLinked returns false: this system does not tell.
func hardLinked(fs.FileInfo) bool { return false }

// linkTimes does nothing: these systems, or Go on them, would set the times of the link's target.
func (l *localDir) linkTimes(string, details) error { return nil }
