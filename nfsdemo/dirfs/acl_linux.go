package dirfs

import (
	"encoding/binary"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// Extended attributes in which Linux shows access control lists: that of a file, and that of a
// directory for what is made in it.
const (
	aclAccess  = "system.posix_acl_access"
	aclDefault = "system.posix_acl_default"
)

// A list is its version in four bytes and its entries, little-endian: tag and rights in two
// bytes each, and the number of a user or group in four.
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

// acl is an access control list: its entries.
type acl []byte

// readACL returns a list, or nil if there is none. get is getxattr(2) or lgetxattr(2).
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

// rights returns those that c has to a file of a group, of which he is not the owner. An entry for
// the user decides alone, else those for his groups, whose rights add up, and what is for others
// only if there is none.
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

// limit takes from the mode of a new file what the list of its directory does not give.
func (l acl) limit(mode uint32) uint32 {
	rights := make(map[uint16]uint32)
	l.entries(func(tag uint16, r, _ uint32) { rights[tag] = r })
	group, ok := rights[aclMask] // which the mode shows, if there is one
	if !ok {
		group = rights[aclOwnerGroup]
	}
	return mode & (nfs3.ModeMask&^0o777 | rights[aclOwner]<<6 | group<<3 | rights[aclOther])
}
