package dirfs

import (
	"encoding/binary"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// The extended attributes that hold access control lists: of a file, and the default for new files
// in a directory.
const (
	aclAccess  = "system.posix_acl_access"
	aclDefault = "system.posix_acl_default"
)

// A list is little-endian: a version (4 bytes), then entries. An entry has a tag (2 bytes), rights
// (2), and the number of a user or group (4).
const (
	aclVersion  = 2
	aclHead     = 4
	aclEntryLen = 8
	aclMax      = 64 << 10 // the longest extended attribute
)

// Tags of entries.
const (
	aclOwner      = 0x01
	aclUser       = 0x02
	aclOwnerGroup = 0x04
	aclGroup      = 0x08
	aclMask       = 0x10
	aclOther      = 0x20
)

// acl is the entries of an access control list, as the host encodes them.
type acl []byte

// readACL reads a list with get, which is getxattr(2) or lgetxattr(2). It returns nil if there is
// no list.
func readACL(
	get func(path, attr string, dest []byte) (int, error), path, attr string,
) (acl, error) {
	b := make([]byte, aclHead+32*aclEntryLen)
	n, err := retry(func() (int, error) { return get(path, attr, b) })
	if err == unix.ERANGE {
		b = make([]byte, aclMax)
		n, err = retry(func() (int, error) { return get(path, attr, b) })
	}
	switch {
	case err == unix.ENODATA, err == unix.EOPNOTSUPP:
		return nil, nil
	case err != nil:
		return nil, err
	case n < aclHead || (n-aclHead)%aclEntryLen != 0 || binary.LittleEndian.Uint32(b) != aclVersion:
		return nil, unix.EIO
	}
	return b[aclHead:n], nil
}

// entries calls f with each entry.
func (l acl) entries(f func(tag uint16, rights, id uint32)) {
	for ; len(l) >= aclEntryLen; l = l[aclEntryLen:] {
		rights := uint32(binary.LittleEndian.Uint16(l[2:])) & 7
		f(binary.LittleEndian.Uint16(l), rights, binary.LittleEndian.Uint32(l[4:]))
	}
}

// rights returns the rights of c to a file of group gid that c does not own. An entry for the user
// decides alone. Otherwise the entries for the caller's groups add up. The entry for others counts
// only if no other entry matches.
func (l acl) rights(c *vfs.Cred, gid uint32) uint32 {
	var user, group, other uint32
	isUser, inGroup, mask := false, false, uint32(7)
	l.entries(func(tag uint16, rights, id uint32) {
		switch {
		case tag == aclUser && id == c.UID:
			user, isUser = rights, true
		case tag == aclOwnerGroup && c.InGroup(gid), tag == aclGroup && c.InGroup(id):
			group, inGroup = group|rights, true
		case tag == aclMask:
			mask = rights
		case tag == aclOther:
			other = rights
		}
	})
	switch {
	case isUser:
		return user & mask
	case inGroup:
		return group & mask
	}
	return other
}

// limit removes the rights that the directory's default list does not grant from a new file's mode.
func (l acl) limit(mode uint32) uint32 {
	rights := make(map[uint16]uint32)
	l.entries(func(tag uint16, r, _ uint32) { rights[tag] = r })
	group, ok := rights[aclMask] // if there is a mask, the mode shows it as the group's rights
	if !ok {
		group = rights[aclOwnerGroup]
	}
	return mode & (nfs3.ModeMask&^0o777 | rights[aclOwner]<<6 | group<<3 | rights[aclOther])
}
