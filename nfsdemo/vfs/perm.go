package vfs

import (
	"strings"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// Rights of one class of users, as in the last three bits of a mode.
const (
	MayRead  = 4
	MayWrite = 2
	MayExec  = 1 // search, of a directory
)

// Perm has the attributes of a file that decide who may use it. Its methods apply the rules of
// POSIX, with the exceptions that NFS servers make.
type Perm struct {
	Type nfs3.FileType
	Mode uint32
	UID  uint32
	GID  uint32
}

// PermOf returns the Perm of a file with attributes a.
func PermOf(a *nfs3.Fattr) Perm { return Perm{a.Type, a.Mode, a.UID, a.GID} }

// Can reports whether the mode gives c all the rights in want.
func (p Perm) Can(c *Cred, want uint32) bool {
	if c.UID == 0 {
		// Not even the superuser executes a file that has no execute bit.
		return want&MayExec == 0 || p.Type == nfs3.TypeDir || p.Mode&0o111 != 0
	}
	mode := p.Mode
	switch {
	case c.UID == p.UID:
		mode >>= 6
	case c.InGroup(p.GID):
		mode >>= 3
	}
	return mode&want == want
}

// Owns reports whether c may do what only the owner of the file may do.
func (p Perm) Owns(c *Cred) bool { return c.UID == 0 || c.UID == p.UID }

// CanReadData reports whether c may READ the file. It allows more than Can, because the server does
// not see files being opened: an owner keeps access whatever the mode is, and a caller who may
// execute a file may read it (RFC 1813 section 4.4).
func (p Perm) CanReadData(c *Cred) bool {
	return p.Owns(c) || p.Can(c, MayRead) || p.Can(c, MayExec)
}

// CanWriteData reports whether c may WRITE the file. The owner always may, because the file may
// have been opened before its mode was changed (RFC 1813 section 4.4).
func (p Perm) CanWriteData(c *Cred) bool { return p.Owns(c) || p.Can(c, MayWrite) }

// Access returns those rights in want that c has.
func (p Perm) Access(c *Cred, want nfs3.Access) nfs3.Access {
	var got nfs3.Access
	if p.Can(c, MayRead) {
		got |= nfs3.AccessRead
	}
	if p.Type == nfs3.TypeDir {
		exec := p.Can(c, MayExec)
		if exec {
			got |= nfs3.AccessLookup
		}
		if exec && p.Can(c, MayWrite) {
			got |= nfs3.AccessModify | nfs3.AccessExtend | nfs3.AccessDelete
		}
		return got & want
	}
	if p.Can(c, MayWrite) {
		got |= nfs3.AccessModify | nfs3.AccessExtend
	}
	if p.Can(c, MayExec) {
		got |= nfs3.AccessExecute
	}
	return got & want
}

// CheckSetAttr checks whether c may make the changes in set. It returns nil, nfs3.ErrPerm,
// nfs3.ErrAcces, or nfs3.ErrInval or nfs3.ErrIsDir for a change that the file cannot have. It does
// not check sizes against a limit.
func (p Perm) CheckSetAttr(c *Cred, set *nfs3.Sattr) error {
	owns := p.Owns(c)
	switch {
	case set.Mode.Set && !owns,
		set.UID.Set && !(c.UID == 0 || owns && set.UID.To == p.UID),
		set.GID.Set && !(c.UID == 0 || owns && (set.GID.To == p.GID || c.InGroup(set.GID.To))),
		(set.Atime.How == nfs3.ToClientTime || set.Mtime.How == nfs3.ToClientTime) && !owns:
		return nfs3.ErrPerm
	case (set.Atime.How == nfs3.ToServerTime || set.Mtime.How == nfs3.ToServerTime) && !owns && !p.Can(c, MayWrite):
		return nfs3.ErrAcces
	case set.Atime.How == nfs3.ToClientTime && set.Atime.To.Nsec >= 1e9,
		set.Mtime.How == nfs3.ToClientTime && set.Mtime.To.Nsec >= 1e9:
		return nfs3.ErrInval
	case !set.Size.Set:
		return nil
	case p.Type == nfs3.TypeDir:
		return nfs3.ErrIsDir
	case p.Type != nfs3.TypeReg:
		return nfs3.ErrInval
	case !p.CanWriteData(c):
		return nfs3.ErrAcces
	}
	return nil
}

// CheckAddName checks whether c may add a name to directory p. It returns nil or nfs3.ErrAcces.
func (p Perm) CheckAddName(c *Cred) error {
	if !p.Can(c, MayWrite|MayExec) {
		return nfs3.ErrAcces
	}
	return nil
}

// CheckRemove checks whether c may remove the name of file from directory p. It returns nil,
// nfs3.ErrAcces, or nfs3.ErrPerm if the directory is sticky and c owns neither of the two.
func (p Perm) CheckRemove(c *Cred, file Perm) error {
	if err := p.CheckAddName(c); err != nil {
		return err
	}
	if p.Mode&nfs3.ModeSticky != 0 && !p.Owns(c) && !file.Owns(c) {
		return nfs3.ErrPerm
	}
	return nil
}

// CheckName checks a name (RFC 1813 section 3.2), for a file system whose names have up to max
// bytes. It returns nil, nfs3.ErrAcces or nfs3.ErrNameTooLong. The names "." and ".." are valid.
func CheckName(name string, max int) error {
	switch {
	case name == "" || strings.ContainsAny(name, "/\x00"):
		return nfs3.ErrAcces
	case len(name) > max:
		return nfs3.ErrNameTooLong
	}
	return nil
}
