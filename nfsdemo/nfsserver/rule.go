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

// Rule says what some clients may do with an export.
type Rule struct {
	// Clients are the addresses that the rule applies to; none means all. Peers without an IP
	// address are in no prefix. An IPv4 address that is mapped to IPv6 is compared as IPv4.
	Clients []netip.Prefix
	// ReadOnly refuses every change with nfs3.ErrROFS.
	ReadOnly bool
	// Privileged refuses peers with nfs3.ErrAcces unless their port is below 1024. It also refuses
	// peers without a port.
	Privileged bool
	// Squash says which callers become Anon.
	Squash Squash
	// Anon is the user of squashed callers, and of callers whose user is not known: with AUTH_NONE,
	// or with a principal that Config.User does not know. Nil means user and group Nobody.
	Anon *vfs.Cred
	// Flavors are the security flavours that calls may use, the preferred one first. MNT returns
	// them to clients. Each service of RPCSEC_GSS is a flavour: calls with krb5p need krb5p here,
	// also where krb5 is allowed. None means AUTH_SYS and AUTH_NONE. Calls with other flavours fail
	// with nfs3.ErrAcces.
	//
	// Two exceptions let clients mount (RFC 2623 section 2.3.2): MNT may be called with any
	// flavour, and GETATTR and FSINFO of an export's root with AUTH_SYS and AUTH_NONE.
	Flavors []mount3.Flavor
	// PerFlavor overrides ReadOnly and Squash for calls with one of Flavors.
	PerFlavor map[mount3.Flavor]Access
}

// Access is the part of a Rule that may differ between flavours.
type Access struct {
	ReadOnly bool
	Squash   Squash
}

// anyFlavors are the flavours of a rule without Flavors. Clients take the first that they know.
var anyFlavors = []mount3.Flavor{mount3.FlavorSys, mount3.FlavorNone}

// Squash says which callers lose their own user and groups.
type Squash int

// Values of Squash.
const (
	SquashRoot Squash = iota // user 0 and group 0
	SquashNone
	SquashAll
)

// Nobody is the default user and group of Rule.Anon.
const Nobody = 65534

// noID is no user and no group: Unix calls take it for "leave unchanged".
const noID = 1<<32 - 1

// check checks a rule by itself.
func (r *Rule) check() error {
	if err := r.Squash.check(); err != nil {
		return err
	}
	if len(r.Flavors) > mount3.MaxFlavors {
		return fmt.Errorf("%d flavours: MNT can return at most %d", len(r.Flavors), mount3.MaxFlavors)
	}
	for i, f := range r.Flavors {
		if slices.Contains(r.Flavors[:i], f) {
			return fmt.Errorf("flavour %v is there twice", f)
		}
	}
	for f, a := range r.PerFlavor {
		if !slices.Contains(r.Flavors, f) {
			return fmt.Errorf("PerFlavor has %v, which is not among Flavors", f)
		}
		if err := a.Squash.check(); err != nil {
			return fmt.Errorf("%v: %w", f, err)
		}
	}
	for _, p := range r.Clients {
		if !p.IsValid() || p.Addr().Is4In6() {
			return fmt.Errorf("clients %v: not a prefix of IPv4 or IPv6 addresses", p)
		}
	}
	return nil
}

func (s Squash) check() error {
	if s < SquashRoot || s > SquashAll {
		return fmt.Errorf("unknown squash %d", s)
	}
	return nil
}

// clone returns a copy that the caller of New cannot change, with defaults filled in.
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

// isFor reports whether the rule applies to a host.
func (r *Rule) isFor(h peerhost.Host) bool { return len(r.Clients) == 0 || h.In(r.Clients) }

// access returns what calls with a flavour may do, and whether the flavour is allowed.
func (r *Rule) access(f mount3.Flavor) (a Access, ok bool) {
	if a, ok = r.PerFlavor[f]; ok {
		return a, true
	}
	return Access{r.ReadOnly, r.Squash}, slices.Contains(r.Flavors, f)
}

// proves reports whether a flavour of the rule proves who calls.
func (r *Rule) proves() bool { return slices.ContainsFunc(r.Flavors, mount3.Flavor.Proves) }

// squash changes c as the rule says. Doing it twice has the same effect as once.
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
