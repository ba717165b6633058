package dirfs

import (
	"context"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// Info tells what the file system can do.
func (fs *FS) Info() vfs.FSInfo {
	h := &fs.tree.host
	return vfs.FSInfo{
		MaxFileSize: h.maxSize,
		TimeDelta:   h.timeStep,
		Epoch:       fs.tree.descs.lost.Load(),
		Properties:  nfs3.FSFLink | nfs3.FSFSymlink | nfs3.FSFHomogeneous | nfs3.FSFCanSetTime,
		PathConf: nfs3.PathConf{LinkMax: h.linkMax, NameMax: MaxName, NoTrunc: true,
			ChownRestricted: true, CasePreserving: true},
	}
}

// StatFS tells how full the file system of the host is.
func (fs *FS) StatFS(_ context.Context, h nfs3.FH) (nfs3.FSStat, nfs3.PostOpAttr, error) {
	f, err := fs.tree.hold(&h)
	if err != nil {
		return nfs3.FSStat{}, nfs3.PostOpAttr{}, err
	}
	defer f.release()
	a, err := f.attr()
	if err != nil {
		return nfs3.FSStat{}, nfs3.PostOpAttr{}, err
	}
	var s unix.Statfs_t
	if err := again(func() error { return unix.Fstatfs(fs.tree.descs.root.fd, &s) }); err != nil {
		return nfs3.FSStat{}, nfs3.PostOpAttrOf(a), fs.tree.host.status("statfs", err)
	}
	unit := uint64(s.Frsize)
	return nfs3.FSStat{
		TotalBytes: s.Blocks * unit,
		FreeBytes:  s.Bfree * unit,
		AvailBytes: s.Bavail * unit,
		TotalFiles: s.Files,
		FreeFiles:  s.Ffree,
		AvailFiles: s.Ffree,
	}, nfs3.PostOpAttrOf(a), nil
}
