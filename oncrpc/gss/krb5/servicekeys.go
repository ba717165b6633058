package krb5

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jcmturner/gokrb5/v8/types"

	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss/krb5/internal/enctype"
)

// Limits on what an unauthenticated peer can cause with a ticket.
const (
	// maxTries is how many keys are tried on a ticket.
	maxTries = 16
	// rereadEvery is the minimum time between attempts to read a keytab that cannot be read.
	rereadEvery = time.Second
)

// serviceKeys are the keys of the principals for which an Acceptor accepts tickets. They follow the
// keytab: while it cannot be read, they are the last that it had.
type serviceKeys struct {
	path    string
	accepts func(principal) bool

	mu     sync.Mutex // guards the fields below
	last   *keySet
	failed time.Time // when the keytab could not be read
	err    error     // why
}

// keySet is what was in a keytab. It does not change.
type keySet struct {
	path   string
	file   os.FileInfo
	owners []principal // in the order of the keytab
	keys   map[string][]serviceKey
	empty  error // why there are no keys
}

// serviceKey is a key for tickets.
type serviceKey struct {
	keyEntry
	cipher *enctype.Cipher
}

// current returns the keys that are in the keytab now. If it cannot be read, err says why, and the
// keys are those that were in it before.
func (s *serviceKeys) current(now time.Time) (*keySet, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last != nil {
		if info, err := os.Stat(s.path); err == nil && sameFile(info, s.last.file) {
			return s.last, nil
		}
		if s.err != nil && now.Sub(s.failed).Abs() < rereadEvery {
			return s.last, s.err
		}
	}
	var set *keySet
	if set, s.err = readKeys(s.path, s.accepts); s.err != nil {
		s.failed = now
		return s.last, s.err
	}
	s.last = set
	return set, nil
}

// owners returns the principals that have keys.
func (s *serviceKeys) owners() []principal {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last.owners
}

// sameFile reports whether a file was neither replaced nor changed.
func sameFile(a, b os.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// readKeys reads the keys of the principals that accepts allows.
func readKeys(path string, accepts func(principal) bool) (*keySet, error) {
	entries, info, err := readKeytab(path)
	if info == nil {
		return nil, err
	}
	s := &keySet{path: path, file: info, keys: make(map[string][]serviceKey), empty: err}
	var others []principal
	for _, e := range entries {
		name := e.owner.String()
		switch {
		case !accepts(e.owner):
			others = append(others, e.owner)
			continue
		case slices.ContainsFunc(s.keys[name], e.again):
			continue
		case s.keys[name] == nil:
			s.owners = append(s.owners, e.owner)
		}
		c, err := enctype.NewCipher(e.key.etype, e.key.value, usageTicket)
		if err != nil {
			return nil, fmt.Errorf("keytab %s: %w", path, err)
		}
		s.keys[name] = append(s.keys[name], serviceKey{e, c})
	}
	if len(s.owners) == 0 && err == nil {
		s.empty = fmt.Errorf("keytab %s has no key of the principal wanted, but of %s",
			path, strings.Join(names(others), ", "))
	}
	return s, nil
}

// again reports whether k is the same key of the same principal.
func (e keyEntry) again(k serviceKey) bool {
	return k.version == e.version && k.key.etype == e.key.etype &&
		bytes.Equal(k.key.value, e.key.value)
}

// open decrypts a ticket in place. Like MIT's library it tries the keys of other versions, too:
// keytabs and tickets may lack the version, or have only its last 8 bits, and a principal that was
// deleted and added again has other keys of the same versions.
func (s *keySet) open(owner principal, t types.EncryptedData) ([]byte, error) {
	all := s.keys[owner.String()]
	switch {
	case s.empty != nil:
		return nil, failed(codeNotUs, "a client's ticket is for %v: %w", owner, s.empty)
	case all == nil:
		return nil, failed(codeNotUs, "the client's ticket is for %v, and keytab %s has no key of that "+
			"principal that may be used: it has %s", owner, s.path, strings.Join(names(s.owners), ", "))
	}
	id, version := enctype.ID(t.EType), uint32(t.KVNO)
	keys := candidates(all, id, version)
	for i, k := range keys {
		b := t.Cipher
		if i < len(keys)-1 {
			b = bytes.Clone(b)
		}
		if plain, err := k.cipher.Open(b); err == nil {
			return plain, nil
		}
	}
	if len(keys) > 0 && distance(keys[0].version, version) < otherVersion {
		return nil, failed(codeBadIntegrity, "a client's ticket for %v does not decrypt with a key in "+
			"keytab %s: if it is genuine the KDC has another key of kvno %d; add that by ktadd",
			owner, s.path, version)
	}
	return nil, failed(codeBadKeyVersion, "keytab %s has no key of %v with kvno %d and %v: "+
		"it has %s; add the KDC's keys to it by ktadd, or have the client get a new ticket",
		s.path, owner, version, id, list(all))
}

// candidates returns the keys to try on a ticket, the likeliest first.
func candidates(all []serviceKey, id enctype.ID, version uint32) []serviceKey {
	var keys []serviceKey
	for _, k := range slices.Backward(all) { // new keys are at the end
		if k.key.etype == id {
			keys = append(keys, k)
		}
	}
	slices.SortStableFunc(keys, func(a, b serviceKey) int {
		return cmp.Or(cmp.Compare(distance(a.version, version), distance(b.version, version)),
			cmp.Compare(b.version, a.version))
	})
	return keys[:min(len(keys), maxTries)]
}

// otherVersion is the distance of a key that should not be the ticket's.
const otherVersion = 2

// distance says how badly a key's version fits that of a ticket.
func distance(has, want uint32) int {
	switch {
	case has == want || want == 0:
		return 0
	case has == 0 || has == want&0xff:
		return 1
	}
	return otherVersion
}

// list describes keys for an error.
func list(keys []serviceKey) string {
	var have []string
	for _, k := range keys {
		have = append(have, fmt.Sprintf("kvno %d %v", k.version, k.key.etype))
	}
	slices.Sort(have)
	return strings.Join(slices.Compact(have), ", ")
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
