package copying

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
)

// localDir is a directory of this host. Links in it cannot lead out of it.
type localDir struct {
	root *os.Root
	dir  string // as the user wrote it
}

// openLocal opens a directory of this host.
func openLocal(dir string) (*localDir, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, words.About(dir, err)
	}
	return &localDir{root, dir}, nil
}

func (l *localDir) close() error { return l.root.Close() }

// show returns a path as the user wrote it.
func (l *localDir) show(name string) string {
	switch {
	case name == ".":
		return l.dir
	case l.dir == ".":
		return filepath.FromSlash(name)
	}
	return filepath.Join(l.dir, filepath.FromSlash(name))
}

func (l *localDir) about(name string, err error) error { return words.About(l.show(name), err) }

// fits refuses names that mean something else on this system, such as those with its separator.
func (l *localDir) fits(name string) error {
	base := path.Base(name)
	if base == "." {
		return nil
	}
	if !filepath.IsLocal(base) || filepath.Base(base) != base ||
		os.PathSeparator == '\\' && strings.ContainsAny(base, `\:`) {
		return l.about(name, words.ErrLocalName)
	}
	return nil
}

func (l *localDir) lstat(_ context.Context, name string) (details, error) {
	info, err := l.root.Lstat(name)
	if err != nil {
		return details{}, l.about(name, err)
	}
	return localDetails(info), nil
}

// listed is how many names list reads at a time.
const listed = 1024

func (l *localDir) list(_ context.Context, name string) iter.Seq2[details, error] {
	return func(yield func(details, error) bool) {
		d, err := l.root.Open(name)
		if err != nil {
			yield(details{}, l.about(name, err))
			return
		}
		defer d.Close()
		for {
			entries, err := d.ReadDir(listed)
			for _, e := range entries {
				info, err := e.Info()
				one := details{name: e.Name()}
				if err == nil {
					one = localDetails(info)
				} else {
					err = l.about(path.Join(name, e.Name()), err)
				}
				if !yield(one, err) {
					return
				}
			}
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(details{}, l.about(name, err))
				return
			}
		}
	}
}

func (l *localDir) readlink(_ context.Context, name string) (string, error) {
	to, err := l.root.Readlink(name)
	return to, l.about(name, err)
}

func (l *localDir) open(_ context.Context, name string, _ *details) (content, error) {
	// The file was regular when it was listed. If it is a FIFO now, do not wait for its other end.
	f, err := l.root.OpenFile(name, os.O_RDONLY|openNonblocking, 0)
	if err != nil {
		return nil, l.about(name, err)
	}
	return f, nil
}

func (l *localDir) read(file content, p []byte) (int, error) { return full(file, p) }

func (l *localDir) state(file content) (details, error) {
	info, err := file.(*os.File).Stat()
	if err != nil {
		return details{}, err
	}
	return localDetails(info), nil
}

func (l *localDir) hold(context.Context, string) (release func()) { return func() {} }

func (l *localDir) create(_ context.Context, name string, perm fs.FileMode, _ bool) (content, error) {
	if err := l.fits(name); err != nil {
		return nil, err
	}
	f, err := l.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm.Perm())
	if err != nil {
		return nil, l.about(name, err)
	}
	return f, nil
}

func (l *localDir) reopen(_ context.Context, name string) (content, error) {
	there, err := l.root.Lstat(name)
	if err != nil {
		return nil, l.about(name, err)
	}
	f, err := l.root.OpenFile(name, os.O_RDWR|openNonblocking, 0)
	if err != nil {
		return nil, l.about(name, err)
	}
	opened, err := f.Stat()
	if err == nil && (!opened.Mode().IsRegular() || !os.SameFile(there, opened) || hardLinked(opened)) {
		err = errReopened
	}
	if err != nil {
		f.Close()
		return nil, l.about(name, err)
	}
	return f, nil
}

func (l *localDir) mkdir(_ context.Context, name string, perm fs.FileMode) error {
	if err := l.fits(name); err != nil {
		return err
	}
	return l.about(name, l.root.Mkdir(name, perm.Perm()))
}

func (l *localDir) symlink(_ context.Context, target, name string) error {
	if err := l.fits(name); err != nil {
		return err
	}
	return l.about(name, l.root.Symlink(target, name))
}

func (l *localDir) keep(_ context.Context, name string, d details, times bool, _ content) error {
	mode := d.mode & kept
	if d.uid >= 0 && !l.giveAway(name, d) {
		mode &^= setID
	}
	link := d.mode.Type() == fs.ModeSymlink
	if !link {
		if err := l.root.Chmod(name, mode); err != nil {
			return l.about(name, err)
		}
	}
	if !times {
		return nil
	}
	if link {
		return l.about(name, l.linkTimes(name, d))
	}
	return l.about(name, l.root.Chtimes(name, d.atime, d.mtime))
}

// giveAway sets the owner and group of a file, or the group alone if only that is permitted. It
// reports whether both are set.
func (l *localDir) giveAway(name string, d details) bool {
	info, err := l.root.Lstat(name)
	if err != nil {
		return false
	}
	has := localDetails(info)
	if has.uid == d.uid && has.gid == d.gid {
		return true
	}
	if l.root.Lchown(name, d.uid, d.gid) == nil {
		return true
	}
	return l.root.Lchown(name, -1, d.gid) == nil && has.uid == d.uid
}

// stored closes the file, because some systems cannot rename open files.
func (l *localDir) stored(file content) error { return file.Close() }

func (l *localDir) rename(_ context.Context, from, to string, _ content) error {
	if err := l.fits(to); err != nil {
		return err
	}
	return l.about(to, l.root.Rename(from, to))
}

func (l *localDir) remove(_ context.Context, name string) error {
	return l.about(name, l.root.Remove(name))
}
