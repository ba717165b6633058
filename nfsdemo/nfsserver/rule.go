package nfsserver

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
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
	// Anon is who squashed callers are, and those of whom is not known which user they are: with
	// AUTH_NONE, or principals that Config.User does not know. Nil means user and group Nobody.
	Anon *vfs.Cred
	// Flavors are those that calls may have, the preferred first, which MNT tells. None means
	// AUTH_SYS and AUTH_NONE. Calls with others are refused with nfs3.ErrAcces; a service that
	// protects more is another, too. As RFC 2623 section 2.3.2 has it, GETATTR and FSINFO of an
	// export's root may also be called with AUTH_SYS and AUTH_NONE, and MNT with any.
	Flavors []mount3.Flavor
	// PerFlavor has what holds for calls with one of Flavors in place of ReadOnly and Squash.
	PerFlavor map[mount3.Flavor]Access
}

// Access is what of a Rule may be another for a flavour.
type Access struct {
	ReadOnly bool
	Squash   Squash
}

// anyFlavors is what a rule without Flavors has: clients take the first that they know.
var anyFlavors = []mount3.Flavor{mount3.FlavorSys, mount3.FlavorNone}

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
	if err := r.Squash.check(); err != nil {
		return err
	}
	if len(r.Flavors) > mount3.MaxFlavors {
		return fmt.Errorf("%d flavours: at most %d can be told", len(r.Flavors), mount3.MaxFlavors)
	}
	for i, f := range r.Flavors {
		if slices.Contains(r.Flavors[:i], f) {
			return fmt.Errorf("%v is there twice", f)
		}
	}
	for f, a := range r.PerFlavor {
		if !slices.Contains(r.Flavors, f) {
			return fmt.Errorf("%v is not among the flavours, and has rules", f)
		}
		if err := a.Squash.check(); err != nil {
			return fmt.Errorf("%v: %w", f, err)
		}
	}
	for _, p := range r.Clients {
		if !p.IsValid() || p.Addr().Is4In6() {
			return fmt.Errorf("clients %v: no prefix of IPv4 or IPv6 addresses", p)
		}
	}
	return nil
}

func (s Squash) check() error {
	if s < SquashRoot || s > SquashAll {
		return fmt.Errorf("squash %d is none", s)
	}
	return nil
}

// clone returns a copy that nobody else changes.
func (r Rule) clone() Rule {
	r.Clients = slices.Clone(r.Clients)
	r.PerFlavor = maps.Clone(r.PerFlavor)
	if r.Flavors = slices.Clone(r.Flavors); len(r.Flavors) == 0 {
		r.Flavors = anyFlavors
	}
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

// access returns what calls with a flavour may do, and whether they may be made.
func (r *Rule) access(f mount3.Flavor) (a Access, ok bool) {
	if a, ok = r.PerFlavor[f]; ok {
		return a, true
	}
	return Access{r.ReadOnly, r.Squash}, slices.Contains(r.Flavors, f)
}

// proves reports whether callers can prove who they are.
func (r *Rule) proves() bool { return slices.ContainsFunc(r.Flavors, mount3.Flavor.Proves) }

// squash makes c into whom the rule takes him for. Twice is the same as once.
func (r *Rule) squash(c *vfs.Cred, s Squash) {
	if s == SquashAll {
		*c = vfs.Cred{UID: r.Anon.UID, GID: r.Anon.GID, GIDs: append(c.GIDs[:0], r.Anon.GIDs...)}
		return
	}
	c.UID = s.id(c.UID, r.Anon.UID)
	c.GID = s.id(c.GID, r.Anon.GID)
	for i, g := range c.GIDs {
		c.GIDs[i] = s.id(g, r.Anon.GID)
	}
}

func (s Squash) id(id, anon uint32) uint32 {
	if id == noID || id == 0 && s == SquashRoot {
		return anon
	}
	return id
}
