package users

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// Config configures Principals.
type Config struct {
	// Database has the users; nil means Host().
	Database Database
	// Realms are those whose principals of one component are users by name. None: only Map counts.
	Realms []string
	// Map has principals that are users in any case; nil is empty.
	Map *Map
	// Logger takes who is no user, at level INFO, and what is wrong with Map, at WARN; nil means
	// slog.Default().
	Logger *slog.Logger
}

// Principals knows which users principals are.
type Principals struct {
	db     Database
	realms []string
	fixed  *Map
	log    *slog.Logger
	cache  *cache[string, *vfs.Cred]
}

// NewPrincipals returns the Principals of a configuration. A realm that cannot be one is an error.
func NewPrincipals(cfg Config) (*Principals, error) {
	for _, r := range cfg.Realms {
		if !plain(r, "@/\\") {
			return nil, fmt.Errorf("%q is no realm", r)
		}
	}
	p := &Principals{
		db: cfg.Database, realms: slices.Clone(cfg.Realms), fixed: cmp.Or(cfg.Map, new(Map)),
		log: cmp.Or(cfg.Logger, slog.Default()),
	}
	if p.db == nil {
		p.db = Host()
	}
	p.cache = newCache(p.lookup)
	return p, nil
}

// maxPrincipal is the longest principal, in bytes, that is looked for. A name of Unix has 256 at
// most, and a realm is like the name of a domain.
const maxPrincipal = 512

// User returns the user that a principal is, or nil: he is none. An error is that it is not known
// just now. User is for nfsserver.Config.User. What it returns must not be changed.
func (p *Principals) User(ctx context.Context, principal string) (*vfs.Cred, error) {
	if len(principal) > maxPrincipal {
		return nil, nil
	}
	return p.cache.get(ctx, principal)
}

// Why a principal is no user.
var (
	errForm  = errors.New("it is not of the form user@REALM")
	errRealm = errors.New("its realm is not one whose principals are users here")
)

// lookup finds out which user a principal is.
func (p *Principals) lookup(principal string) (c *vfs.Cred, found bool, err error) {
	who, mapped := p.fixed.users[principal]
	if who.cred != nil {
		return who.cred, true, nil
	}
	name := who.name
	if !mapped {
		name, err = p.name(principal)
	}
	if err == nil {
		if c, err = p.db.User(name); err == nil {
			return c, true, nil
		}
		if !errors.Is(err, ErrUnknown) {
			return nil, false, err
		}
	}
	level := slog.LevelInfo
	if mapped {
		level = slog.LevelWarn // the map names somebody who does not exist
	}
	p.log.Log(context.Background(), level, "nfs: a principal is no user here, and is squashed",
		"principal", principal, "why", err)
	return nil, false, nil
}

// name returns the name of the user that a principal is, by its realm. Kerberos marks what is odd
// in a component by a backslash (RFC 1964 section 2.1.1): such names are no users.
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

// plain reports whether s is a word that can be shown and has none of some characters.
func plain(s, without string) bool {
	odd := func(r rune) bool { return !unicode.IsPrint(r) || unicode.IsSpace(r) }
	return s != "" && utf8.ValidString(s) && !strings.ContainsAny(s, without) &&
		!strings.ContainsFunc(s, odd)
}
