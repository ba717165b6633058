package users

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rpcrdma/go-rpcrdma/internal/faultlog"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// Config configures Principals.
type Config struct {
	// Database has the users; nil means Host().
	Database Database
	// Realms are the realms whose principals NAME@REALM are the users NAME. If there are none, only
	// Map counts.
	Realms []string
	// Map has principals that are users in any case; nil means none.
	Map *Map
	// Logger logs principals without a user at INFO, once a minute for each host and reason, and
	// users in Map that do not exist at WARN; nil means slog.Default().
	Logger *slog.Logger
}

// Principals looks up the users of principals.
type Principals struct {
	db     Database
	realms []string
	fixed  *Map
	cache  *cache[string, *vfs.Cred]
}

// NewPrincipals returns Principals. It fails if a realm is malformed.
func NewPrincipals(cfg Config) (*Principals, error) {
	for _, r := range cfg.Realms {
		if !plain(r, "@/\\") {
			return nil, fmt.Errorf("%q is not a realm", r)
		}
	}
	p := &Principals{
		db: cfg.Database, realms: slices.Clone(cfg.Realms), fixed: cmp.Or(cfg.Map, new(Map)),
	}
	if p.db == nil {
		p.db = Host()
	}
	p.cache = newCache(cmp.Or(cfg.Logger, slog.Default()), p.lookup, p.missed)
	return p, nil
}

// maxPrincipal is the longest principal in bytes that is looked up. Names on Unix have up to 256
// bytes, and realms are like domain names.
const maxPrincipal = 512

// User returns the user of a principal that calls from a peer, for nfsserver.Config.User. It
// returns nil if the principal is no user. If the database cannot answer just now, or the peer's
// host has too many look-ups under way, User returns the last answer, or an error if there is none.
// The caller must not change the result.
func (p *Principals) User(ctx context.Context, peer net.Addr, principal string) (
	*vfs.Cred, error) {
	if len(principal) > maxPrincipal {
		return nil, nil
	}
	return p.cache.get(ctx, peer, principal)
}

// Reasons why a principal is no user.
var (
	errForm  = errors.New("it is not of the form user@REALM")
	errRealm = errors.New("its realm is not one whose principals are users here")
)

// lookup looks up the user of a principal.
func (p *Principals) lookup(principal string) (c *vfs.Cred, missing, err error) {
	who, mapped := p.fixed.users[principal]
	if who.cred != nil {
		return who.cred, nil, nil
	}
	name := who.name
	if !mapped {
		if name, err = p.name(principal); err != nil {
			return nil, err, nil
		}
	}
	c, err = p.db.User(name)
	if errors.Is(err, ErrUnknown) {
		return nil, err, nil
	}
	return c, nil, err
}

// missed logs that a principal is no user.
func (p *Principals) missed(peer net.Addr, principal string, why error) {
	const msg = "nfs: a principal is no user here, and is squashed"
	if _, mapped := p.fixed.users[principal]; mapped { // to a user who does not exist
		p.cache.log.Warning(msg, principal, "principal", principal, "why", why)
		return
	}
	kind := faultlog.OneOf(why, errForm, errRealm, ErrUnknown)
	p.cache.log.Event(peer, msg, kind, "principal", principal, "why", why)
}

// name returns the name of the user of a principal in one of the realms. Kerberos escapes special
// characters by a backslash (RFC 1964 section 2.1.1); such names are no users.
func (p *Principals) name(principal string) (string, error) {
	name, realm, ok := strings.Cut(principal, "@")
	if !ok || !plain(name, "/\\:") {
		return "", errForm
	}
	if !slices.Contains(p.realms, realm) {
		return "", errRealm
	}
	return name, nil
}

// plain reports whether s is printable, has no spaces, and none of the characters in without.
func plain(s, without string) bool {
	odd := func(r rune) bool { return !unicode.IsPrint(r) || unicode.IsSpace(r) }
	return s != "" && utf8.ValidString(s) && !strings.ContainsAny(s, without) &&
		!strings.ContainsFunc(s, odd)
}
