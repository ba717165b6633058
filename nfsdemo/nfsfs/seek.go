package nfsfs

import (
	"io"
	"io/fs"
)

// Seek sets the offset of the next Read or Write. In a directory it can only go to the start; the
// directory is then listed again.
func (f *File) Seek(offset int64, whence int) (int64, error) {
	if err := f.enter(); err != nil {
		return 0, f.err("seek", err)
	}
	defer f.leave()
	f.offset.Lock()
	defer f.offset.Unlock()
	to, err := f.seek(offset, whence)
	if err != nil {
		return 0, f.err("seek", err)
	}
	f.off = to
	if f.list != nil {
		f.list.stop()
		f.list = nil
	}
	return to, nil
}

func (f *File) seek(offset int64, whence int) (int64, error) {
	from := int64(0)
	switch whence {
	case io.SeekStart:
	case io.SeekCurrent:
		from = f.off
	case io.SeekEnd:
		a, err := f.fs.c.GetAttr(f.ctx, f.handle)
		if err != nil {
			return 0, err
		}
		// Uncommitted data may be missing at the server, but will be written again.
		from = max(size(&a), f.unstable.end())
	default:
		return 0, fs.ErrInvalid
	}
	to := from + offset
	if to < 0 || f.dir && to != 0 {
		return 0, invalid{errNegative}
	}
	return to, nil
}
