package vfs

import "github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"

// ModeSet returns the mode of a file after a SETATTR by c, which CheckSetAttr has allowed.
//
// Here and below: a file loses set-user-ID and set-group-ID when its owner, group or data change,
// as on Linux's server.
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

// ModeWritten returns the mode of a file after c has written its data.
func (p Perm) ModeWritten(c *Cred) uint32 {
	if c.UID == 0 || p.Type != nfs3.TypeReg {
		return p.Mode
	}
	return p.withoutSetID(c)
}

// ModeMade returns the mode of a new file. p has the mode, owner and group that the file is to get,
// set has those that c asked for, and dir is the mode of the directory.
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

// groupExec is the group's execute bit. Without it, set-group-ID means mandatory locking, and lends
// no rights.
const groupExec = 0o010

// lends reports whether c may make files that run with the rights of a group.
func (c *Cred) lends(gid uint32) bool { return c.UID == 0 || c.InGroup(gid) }

// withoutLent returns the mode without the bits that lend the rights of owner and group.
func (p Perm) withoutLent() uint32 {
	p.Mode &^= nfs3.ModeSetUID
	if p.Mode&groupExec != 0 {
		p.Mode &^= nfs3.ModeSetGID
	}
	return p.Mode
}

// withoutSetID is withoutLent. It also clears set-group-ID without groupExec if c may not lend the
// group's rights.
func (p Perm) withoutSetID(c *Cred) uint32 {
	p.Mode = p.withoutLent()
	if !c.lends(p.GID) {
		p.Mode &^= nfs3.ModeSetGID
	}
	return p.Mode
}
