package krb5

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss/krb5/internal/enctype"
)

// rereadEvery is the minimum time between checks of the keytab for changes. Unauthenticated peers
// cause them.
const rereadEvery = time.Second

// serviceKeys are the keys of the principals for which an Acceptor accepts tickets.
type serviceKeys struct {
	path string

	mu       sync.Mutex // guards the fields below
	owners   map[string]map[keyID]*enctype.Cipher
	order    []principal // the owners in the order of the keytab
	modified time.Time
	looked   time.Time
}

// keyID identifies a key of a principal.
type keyID struct {
	etype   enctype.ID
	version int
}

// read replaces the keys by those in the keytab.
func (s *serviceKeys) read(accepts func(principal) bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.readLocked(accepts)
}

func (s *serviceKeys) readLocked(accepts func(principal) bool) error {
	info, err := os.Stat(s.path)
	if err != nil {
		return fmt.Errorf("keytab: %w", err)
	}
	entries, err := readKeytab(s.path)
	if err != nil {
		return err
	}
	owners := make(map[string]map[keyID]*enctype.Cipher)
	var order, others []principal
	for _, e := range entries {
		if !accepts(e.owner) {
			others = append(others, e.owner)
			continue
		}
		name := e.owner.String()
		if owners[name] == nil {
			owners[name] = make(map[keyID]*enctype.Cipher)
			order = append(order, e.owner)
		}
		c, err := enctype.NewCipher(e.key.etype, e.key.value, usageTicket)
		if err != nil {
			return fmt.Errorf("keytab %s: %w", s.path, err)
		}
		owners[name][keyID{e.key.etype, e.version}] = c
	}
	if len(owners) == 0 {
		return fmt.Errorf("keytab %s has no key of the principal wanted, but of %s",
			s.path, strings.Join(names(others), ", "))
	}
	s.owners, s.order, s.modified = owners, order, info.ModTime()
	return nil
}

// find returns the key with which a ticket is encrypted. If the ticket has no version, version is
// 0, and find returns the newest key. The error lists the keys that exist.
func (s *serviceKeys) find(owner principal, id enctype.ID, version int, now time.Time,
	accepts func(principal) bool) (*enctype.Cipher, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.findLocked(owner, id, version)
	if err == nil || now.Sub(s.looked).Abs() < rereadEvery {
		return c, err
	}
	s.looked = now
	if info, e := os.Stat(s.path); e != nil || info.ModTime().Equal(s.modified) {
		return nil, err
	}
	if e := s.readLocked(accepts); e != nil {
		return nil, failed(codeOf(err), "%w, and it cannot be read again: %w", err, e)
	}
	return s.findLocked(owner, id, version)
}

func (s *serviceKeys) findLocked(owner principal, id enctype.ID, version int) (
	*enctype.Cipher, error) {
	keys := s.owners[owner.String()]
	if keys == nil {
		return nil, failed(codeNotUs, "the client's ticket is for %v, and keytab %s has no key of that "+
			"principal that may be used: it has %s", owner, s.path, strings.Join(names(s.order), ", "))
	}
	if version == 0 {
		for k := range keys {
			if k.etype == id {
				version = max(version, k.version)
			}
		}
	}
	if c := keys[keyID{id, version}]; c != nil {
		return c, nil
	}
	return nil, failed(codeBadKeyVersion, "keytab %s has no key of %v with kvno %d and %v: "+
		"it has %s; add the KDC's keys to it by ktadd, or have the client get a new ticket",
		s.path, owner, version, id, list(keys))
}

// list describes keys for an error.
func list(keys map[keyID]*enctype.Cipher) string {
	var have []string
	for k := range keys {
		have = append(have, fmt.Sprintf("kvno %d %v", k.version, k.etype))
	}
	slices.Sort(have)
	return strings.Join(have, ", ")
}

func (s *serviceKeys) names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return names(s.order)
}

// first returns the first principal in the keytab.
func (s *serviceKeys) first() principal {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.order[0]
}

// names returns the names of principals without duplicates.
func names(of []principal) []string {
	var names []string
	for _, p := range of {
		if name := p.String(); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
