package nfsfs

import "github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"

// SetAttr changes attributes of the file.
func (f *File) SetAttr(set nfs3.Sattr) error { return f.setAttr("setattr", set) }

// Truncate sets the size of the file. The offset does not change.
func (f *File) Truncate(size int64) error {
	if size < 0 {
		return f.err("truncate", invalid{errNegative})
	}
	return f.setAttr("truncate", sized(size))
}

func (f *File) setAttr(op string, set nfs3.Sattr) error {
	if err := f.enter(); err != nil {
		return f.err(op, err)
	}
	defer f.leave()
	return f.err(op, f.unstable.setAttr(set))
}
