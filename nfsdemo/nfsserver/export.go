package nfsserver

import (
	"errors"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// Export is a file system under the path by which clients mount it.
type Export struct {
	Path string // absolute and clean, such as "/" or "/srv/data"; at most mount3.MaxPath bytes
	FS   vfs.FS // not that of another export: the file system of a handle says whose rules hold
	// ReadOnly refuses what would change anything, with nfs3.ErrROFS.
	ReadOnly bool
	// Clients are the addresses from which the export may be mounted and used; none
	// means all. Peers without an IP address are in no prefix. IPv4 addresses that come
	// mapped to IPv6 are compared as IPv4.
	Clients []netip.Prefix
	// Squash says which callers are taken for Anon.
	Squash Squash
	// Anon is who squashed callers are, and those without AUTH_SYS credentials; nil means user and
	// group Nobody.
	Anon *vfs.Cred
}

// Squash is a set of callers whose credentials do not count.
type Squash int

// The sets.
const (
	SquashRoot Squash = iota // user 0, and group 0 of others
	SquashNone
	SquashAll
)

// Nobody is the user and the group of Anon unless an export names others.
const Nobody = 65534

// noID is the user and group that are none: to the calls of Unix it means "leave it as it is".
const noID = 1<<32 - 1

// check says what is wrong with an export by itself.
func (x *Export) check() error {
	switch {
	case !path.IsAbs(x.Path) || path.Clean(x.Path) != x.Path:
		return errors.New("the path is not absolute and clean")
	case len(x.Path) > mount3.MaxPath:
		return fmt.Errorf("the path is longer than %d bytes", mount3.MaxPath)
	case x.FS == nil:
		return errors.New("no file system")
	case x.Squash < SquashRoot || x.Squash > SquashAll:
		return fmt.Errorf("squash %d is none", x.Squash)
	}
	for _, p := range x.Clients {
		if !p.IsValid() || p.Addr().Is4In6() {
			return fmt.Errorf("clients %v: no prefix of IPv4 or IPv6 addresses", p)
		}
	}
	return nil
}

// export is an Export that is served.
type export struct {
	Export
	anon     vfs.Cred
	counters exportCounters
	check    check
	gone     atomic.Bool // its root cannot be had
}

func newExport(x Export) *export {
	e := &export{Export: x, anon: vfs.Cred{UID: Nobody, GID: Nobody}}
	e.Clients = slices.Clone(x.Clients)
	if x.Anon != nil {
		e.anon = *x.Anon
		e.anon.GIDs = slices.Clone(x.Anon.GIDs)
	}
	return e
}

// squash makes c, who has said who he is or has not, into whom the export takes him for. Twice is
// the same as once.
func (e *export) squash(c *vfs.Cred, said bool) {
	if !said || e.Squash == SquashAll {
		*c = vfs.Cred{UID: e.anon.UID, GID: e.anon.GID, GIDs: append(c.GIDs[:0], e.anon.GIDs...)}
		return
	}
	c.UID = e.id(c.UID, e.anon.UID)
	c.GID = e.id(c.GID, e.anon.GID)
	for i, g := range c.GIDs {
		c.GIDs[i] = e.id(g, e.anon.GID)
	}
}

func (e *export) id(id, anon uint32) uint32 {
	if id == noID || id == 0 && e.Squash == SquashRoot {
		return anon
	}
	return id
}
