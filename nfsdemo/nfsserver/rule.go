package nfsserver

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// Rule is what some clients may do with an export.
type Rule struct {
	// Clients are the addresses from which the export may be mounted and used; none
	// means all. Peers without an IP address are in no prefix. IPv4 addresses that come
	// mapped to IPv6 are compared as IPv4.
	Clients []netip.Prefix
	// ReadOnly refuses what would change anything, with nfs3.ErrROFS.
	ReadOnly bool
	// Privileged refuses peers whose port is 1024 or above, with nfs3.ErrAcces; those without a
	// port, too.
	Privileged bool
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

// Nobody is the user and the group of Anon unless a rule names others.
const Nobody = 65534

// noID is the user and group that are none: to the calls of Unix it means "leave it as it is".
const noID = 1<<32 - 1

// check says what is wrong with a rule.
func (r *Rule) check() error {
	if r.Squash < SquashRoot || r.Squash > SquashAll {
		return fmt.Errorf("squash %d is none", r.Squash)
	}
	for _, p := range r.Clients {
		if !p.IsValid() || p.Addr().Is4In6() {
			return fmt.Errorf("clients %v: no prefix of IPv4 or IPv6 addresses", p)
		}
	}
	return nil
}

// clone returns a copy that nobody else changes.
func (r Rule) clone() Rule {
	r.Clients = slices.Clone(r.Clients)
	anon := vfs.Cred{UID: Nobody, GID: Nobody}
	if r.Anon != nil {
		anon = *r.Anon
		anon.GIDs = slices.Clone(anon.GIDs)
	}
	r.Anon = &anon
	return r
}

// isFor reports whether a host is among the clients.
func (r *Rule) isFor(h peerhost.Host) bool { return len(r.Clients) == 0 || h.In(r.Clients) }

// squash makes c, who has said who he is or has not, into whom the rule takes him for. Twice is
// the same as once.
func (r *Rule) squash(c *vfs.Cred, said bool) {
	if !said || r.Squash == SquashAll {
		*c = vfs.Cred{UID: r.Anon.UID, GID: r.Anon.GID, GIDs: append(c.GIDs[:0], r.Anon.GIDs...)}
		return
	}
	c.UID = r.id(c.UID, r.Anon.UID)
	c.GID = r.id(c.GID, r.Anon.GID)
	for i, g := range c.GIDs {
		c.GIDs[i] = r.id(g, r.Anon.GID)
	}
}

func (r *Rule) id(id, anon uint32) uint32 {
	if id == noID || id == 0 && r.Squash == SquashRoot {
		return anon
	}
	return id
}
