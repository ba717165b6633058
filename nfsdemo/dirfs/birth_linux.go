package dirfs

import (
	"encoding/binary"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// birth has the attributes of a new file.
type birth struct {
	kind         nfs3.FileType
	uid, gid     uint32
	own          bool // uid and gid differ from those that the host gives it
	mode         uint32
	size         uint64
	atime, mtime nfs3.SetTime
}

// newBirth returns the attributes of a new file that c makes in a directory. It fails if c may not
// set them.
func newBirth(
	c *vfs.Cred, d dir, da *nfs3.Fattr, kind nfs3.FileType, set *nfs3.Sattr,
) (birth, error) {
	h := &d.t.host
	b := birth{kind: kind, mode: 0o644, uid: c.UID, gid: c.GID, own: h.super}
	if kind == nfs3.TypeDir {
		b.mode = 0o755
	}
	// A directory with the set-group-id bit hands down its group, whatever the groups
	// of the caller, and the bit to directories.
	inherit := da.Mode & nfs3.ModeSetGID
	if inherit != 0 {
		b.gid = da.GID
	}
	want := *set
	if kind != nfs3.TypeReg {
		want.Size = nfs3.Set64{}
	}
	p := vfs.Perm{Type: kind, Mode: b.mode, UID: b.uid, GID: b.gid}
	if err := p.CheckSetAttr(c, &want); err != nil {
		return b, err
	}
	if want.Size.To > h.maxSize {
		return b, nfs3.ErrFBig
	}
	if !h.super {
		// The process cannot give files away.
		if b.uid = h.uid; inherit == 0 {
			b.gid = h.gid
		}
		if want.UID.Set && want.UID.To != b.uid || want.GID.Set && want.GID.To != b.gid {
			return b, nfs3.ErrPerm
		}
	}
	if want.UID.Set {
		b.uid = want.UID.To
	}
	if want.GID.Set {
		b.gid = want.GID.To
	}
	if want.Mode.Set {
		b.mode = want.Mode.To & nfs3.ModeMask
	}
	if b.uid == noID || b.gid == noID {
		return b, nfs3.ErrInval // the file would be left to the process
	}
	b.mode = vfs.Perm{Type: kind, Mode: b.mode, UID: b.uid, GID: b.gid}.ModeMade(c, &want, da.Mode)
	if kind != nfs3.TypeLnk {
		l, err := readACL(unix.Getxattr, procPath(d.path.fd), aclDefault)
		if err != nil {
			return b, h.status("access control list", err)
		}
		if l != nil {
			b.mode = l.limit(b.mode)
		}
	}
	b.size, b.atime, b.mtime = want.Size.To, want.Atime, want.Mtime
	return b, nil
}

// give sets the attributes of a new file. fd is O_PATH, or writable if there is a size to set.
func (b *birth) give(h *host, fd int) error {
	if b.own {
		if err := h.chown(fd, b.uid, b.gid); err != nil {
			return err
		}
	}
	if b.size > 0 {
		if err := again(func() error { return unix.Ftruncate(fd, int64(b.size)) }); err != nil {
			return err
		}
	}
	// After chown, which clears bits; the umask does not matter here.
	if b.kind != nfs3.TypeLnk {
		if err := chmod(fd, b.mode); err != nil {
			return err
		}
	}
	return setTimes(fd, b.atime, b.mtime)
}

// keepVerifier stores the verifier of an exclusive CREATE in the times of the file, as Linux's
// server does, until the client sets these. So it survives a restart. It drops the highest bits,
// because not all file systems can store them.
func (b *birth) keepVerifier(v nfs3.Verifier) {
	b.atime, b.mtime = verifierTime(v[:4]), verifierTime(v[4:])
}

// keeps reports whether a file was made by an exclusive CREATE with that verifier.
func keeps(a *nfs3.Fattr, v nfs3.Verifier) bool {
	return a.Type == nfs3.TypeReg && a.Size == 0 &&
		a.Atime == verifierTime(v[:4]).To && a.Mtime == verifierTime(v[4:]).To
}

func verifierTime(half []byte) nfs3.SetTime {
	t := nfs3.Time{Sec: binary.BigEndian.Uint32(half) &^ (1 << 31)}
	return nfs3.SetTime{How: nfs3.ToClientTime, To: t}
}
