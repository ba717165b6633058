package vfs

import "github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"

// The bits that lend the rights of a file's owner and group are taken from it when it changes hands
// or contents, as Linux's server does.

// ModeSet returns the mode of a file after a SETATTR of c's, which CheckSetAttr has permitted.
func (p Perm) ModeSet(c *Cred, set *nfs3.Sattr) uint32 {
	given := (set.UID.Set || set.GID.Set) && p.Type != nfs3.TypeDir
	if !set.Mode.Set {
		if given {
			p.Mode = p.withoutSetID(c)
		}
		if set.Size.Set {
			p.Mode = p.ModeWritten(c)
		}
		return p.Mode
	}
	if set.GID.Set {
		p.GID = set.GID.To
	}
	p.Mode = set.Mode.To & nfs3.ModeMask
	if given {
		p.Mode = p.withoutLent()
	}
	if !c.lends(p.GID) {
		p.Mode &^= nfs3.ModeSetGID
	}
	return p.Mode
}

// ModeWritten returns the mode of a file whose data c has changed.
func (p Perm) ModeWritten(c *Cred) uint32 {
	if c.UID == 0 || p.Type != nfs3.TypeReg {
		return p.Mode
	}
	return p.withoutSetID(c)
}

// ModeMade returns the mode of a new file of p, for whose mode, owner and group c has asked by set,
// in a directory of mode dir.
func (p Perm) ModeMade(c *Cred, set *nfs3.Sattr, dir uint32) uint32 {
	if p.Type == nfs3.TypeDir {
		return p.Mode&^(nfs3.ModeSetUID|nfs3.ModeSetGID) | dir&nfs3.ModeSetGID
	}
	if dir&nfs3.ModeSetGID != 0 && p.Mode&groupExec != 0 && !c.lends(p.GID) {
		p.Mode &^= nfs3.ModeSetGID
	}
	if set.UID.Set || set.GID.Set {
		return p.withoutLent()
	}
	return p.Mode
}

// groupExec is the right of the group to execute a file. Without it, set-group-ID has another
// meaning.
const groupExec = 0o010

// lends reports whether c may lend the rights of a group.
func (c *Cred) lends(gid uint32) bool { return c.UID == 0 || c.InGroup(gid) }

// withoutLent returns the mode without the bits that lend rights.
func (p Perm) withoutLent() uint32 {
	p.Mode &^= nfs3.ModeSetUID
	if p.Mode&groupExec != 0 {
		p.Mode &^= nfs3.ModeSetGID
	}
	return p.Mode
}

// withoutSetID is withoutLent, and takes set-group-ID, whatever its meaning, where c may not lend
// the group's rights.
func (p Perm) withoutSetID(c *Cred) uint32 {
	p.Mode = p.withoutLent()
	if !c.lends(p.GID) {
		p.Mode &^= nfs3.ModeSetGID
	}
	return p.Mode
}
