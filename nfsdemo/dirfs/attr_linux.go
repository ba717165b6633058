package dirfs

import (
	"context"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

var kinds = map[uint16]nfs3.FileType{
	unix.S_IFREG:  nfs3.TypeReg,
	unix.S_IFDIR:  nfs3.TypeDir,
	unix.S_IFBLK:  nfs3.TypeBlk,
	unix.S_IFCHR:  nfs3.TypeChr,
	unix.S_IFLNK:  nfs3.TypeLnk,
	unix.S_IFSOCK: nfs3.TypeSock,
	unix.S_IFIFO:  nfs3.TypeFIFO,
}

// fattr converts attributes of the host.
func (t *tree) fattr(st *unix.Statx_t) nfs3.Fattr {
	return nfs3.Fattr{
		Type:   kinds[st.Mode&unix.S_IFMT],
		Mode:   uint32(st.Mode) & nfs3.ModeMask,
		Nlink:  st.Nlink,
		UID:    st.Uid,
		GID:    st.Gid,
		Size:   st.Size,
		Used:   st.Blocks * 512,
		Rdev:   nfs3.Specdata{Major: st.Rdev_major, Minor: st.Rdev_minor},
		FSID:   t.sealer.id,
		FileID: st.Ino,
		Atime:  timeOf(st.Atime),
		Mtime:  timeOf(st.Mtime),
		Ctime:  timeOf(st.Ctime),
	}
}

// timeOf converts a time of the host, which may be outside the times of NFS.
func timeOf(t unix.StatxTimestamp) nfs3.Time { return nfs3.Nearest(time.Unix(t.Sec, int64(t.Nsec))) }

// GetAttr returns the attributes of a file.
func (fs *FS) GetAttr(_ context.Context, h nfs3.FH) (nfs3.Fattr, error) {
	f, err := fs.tree.hold(&h)
	if err != nil {
		return nfs3.Fattr{}, err
	}
	defer f.release()
	f.n.mu.RLock()
	defer f.n.mu.RUnlock()
	return f.attr()
}

// Access tells which rights c has.
func (fs *FS) Access(
	_ context.Context, c *vfs.Cred, h nfs3.FH, want nfs3.Access,
) (nfs3.Access, nfs3.PostOpAttr, error) {
	f, err := fs.tree.hold(&h)
	if err != nil {
		return 0, nfs3.PostOpAttr{}, err
	}
	defer f.release()
	f.n.mu.RLock()
	defer f.n.mu.RUnlock()
	a, err := f.attr()
	if err != nil {
		return 0, nfs3.PostOpAttr{}, err
	}
	return f.perm(c, &a).Access(c, want), nfs3.PostOpAttrOf(a), nil
}
