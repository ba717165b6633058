package krb5

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss/krb5/internal/enctype"
)

// InitiatorConfig configures an Initiator.
type InitiatorConfig struct {
	// Cache is the credential cache that kinit fills: a path or FILE:PATH. "" means the value of
	// KRB5CCNAME, else default_ccache_name in krb5.conf, else /tmp/krb5cc_UID. Other kinds, such as
	// KEYRING: and KCM:, are not supported.
	Cache string
	// Keytab is the path of a keytab to use in place of a cache. The Initiator gets tickets with
	// its keys, and renews them before they expire.
	Keytab string
	// Principal selects keys of the keytab: "alice", "nfs/client.example.org", or with "@REALM"; ""
	// means the first principal.
	Principal string
	// Conf is the path of krb5.conf; "" means the value of KRB5_CONFIG, else /etc/krb5.conf.
	Conf string
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Initiator creates contexts as a client, with a credential cache or a keytab. It implements
// gss.Initiator. It keeps tickets in memory, but no goroutines or connections. It goes by the KDC's
// clock as it was at the last login, unless krb5.conf says kdc_timesync = 0.
type Initiator struct {
	cfg   InitiatorConfig
	cache string // path of the credential cache
	kdc   kdcClient

	busy    chan struct{} // holds a value while a call asks a KDC
	renewAt time.Time     // when to try to renew self again; guarded by busy

	mu   sync.Mutex // guards the fields below; writing self and services also needs busy
	self *ticket    // the ticket-granting ticket from the keytab's keys
	// services are tickets from KDCs, by client and service.
	services map[string]*ticket
	refused  map[[32]byte]struct{} // tickets for which the service has no key
	skewed   bool                  // the KDC's clock has to be learnt again
}

var _ gss.Initiator = (*Initiator)(nil)

// maxKept is the maximum number of tickets kept.
const maxKept = 256

// NewInitiator reads krb5.conf. It looks for tickets only when they are needed.
func NewInitiator(cfg InitiatorConfig) (*Initiator, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	conf, err := readProfile(confPaths(cfg.Conf))
	if err != nil {
		return nil, err
	}
	i := &Initiator{
		cfg: cfg, busy: make(chan struct{}, 1), services: make(map[string]*ticket),
		refused: make(map[[32]byte]struct{}),
	}
	if cfg.Keytab != "" {
		i.cfg.Keytab, err = filePath("keytab", cfg.Keytab)
	} else {
		i.cache, err = cachePath(cfg.Cache, conf)
	}
	if err != nil {
		return nil, err
	}
	i.kdc.conf, i.kdc.etypes = conf, permitted(conf.lib("permitted_enctypes"))
	i.kdc.clock.host, i.kdc.clock.own = cfg.Now, !conf.flag("kdc_timesync", true)
	if len(i.kdc.etypes) == 0 {
		return nil, fmt.Errorf("krb5.conf: permitted_enctypes has none of %s", supported())
	}
	return i, nil
}

// usual are the encryption types that MIT's library requests, in its order.
var usual = []enctype.ID{
	enctype.AES256SHA1, enctype.AES128SHA1, enctype.AES256SHA384, enctype.AES128SHA256,
}

// etypeNames are additional names of encryption types in krb5.conf.
var etypeNames = map[string][]enctype.ID{
	"default": usual, "aes": usual,
	"aes256-cts": {enctype.AES256SHA1}, "aes256-sha1": {enctype.AES256SHA1},
	"aes128-cts": {enctype.AES128SHA1}, "aes128-sha1": {enctype.AES128SHA1},
	"aes256-sha2": {enctype.AES256SHA384}, "aes128-sha2": {enctype.AES128SHA256},
}

// permitted parses a value of permitted_enctypes.
func permitted(value string) []enctype.ID {
	if value == "" {
		return usual
	}
	var list []enctype.ID
	for word := range strings.FieldsFuncSeq(strings.ToLower(value), func(r rune) bool {
		return r == ' ' || r == '\t' || r == ','
	}) {
		name := strings.TrimLeft(word, "+-")
		named := etypeNames[name]
		for _, id := range enctype.All {
			if id.String() == name {
				named = []enctype.ID{id}
			}
		}
		for _, id := range named {
			list = slices.DeleteFunc(list, func(other enctype.ID) bool { return other == id })
			if word[0] != '-' {
				list = append(list, id)
			}
		}
	}
	return list
}

// Initiate gets a ticket for a service: "nfs@server.example.org" is the principal
// nfs/server.example.org. The host name is used as it is, in lower case, as with
// dns_canonicalize_hostname = false. Its realm is the one in domain_realm of krb5.conf; without
// one, the KDC of the client's realm is asked. The error is a *gss.StatusError.
func (i *Initiator) Initiate(ctx context.Context, service string) (gss.Negotiation, error) {
	name, host, err := parseService(service)
	if err != nil {
		return nil, &gss.StatusError{Major: gss.BadName, Err: fmt.Errorf("%q: %w", service, err)}
	}
	want := principal{[]string{name, host}, i.kdc.conf.realmOf(host)}
	t, err := i.ticket(ctx, want)
	if err != nil {
		var status *gss.StatusError
		if !errors.As(err, &status) {
			status = &gss.StatusError{Major: gss.NoCred, Err: err}
		}
		return nil, status
	}
	return &initiation{initiator: i, service: service, ticket: t}, nil
}

// now returns the KDC's time.
func (i *Initiator) now() time.Time { return i.kdc.clock.now() }

// ticket gets a ticket for a service from the cache, from memory, or from a KDC. A call that needs
// no KDC does not wait for one that does.
func (i *Initiator) ticket(ctx context.Context, service principal) (*ticket, error) {
	select {
	case i.busy <- struct{}{}:
	default:
		if t := i.held(service); t != nil {
			return t, nil
		}
		select {
		case i.busy <- struct{}{}:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	defer func() { <-i.busy }()
	tgt, have, err := i.credentials(ctx)
	if err != nil {
		return nil, err
	}
	for _, t := range have {
		if t.client.equal(tgt.client) && matches(t.service, service) && i.good(t) {
			return t, nil
		}
	}
	if old := i.kept(tgt.client, service); i.good(old) {
		return old, nil
	}
	if !tgt.usable(i.now()) {
		return nil, i.expired(tgt)
	}
	t, err := i.kdc.find(ctx, tgt, service)
	if i.relearn(codeOf(err)) {
		if tgt, err = i.login(ctx); err == nil {
			t, err = i.kdc.find(ctx, tgt, service)
		}
	}
	if err != nil {
		return nil, err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.services) >= maxKept {
		clear(i.services)
	}
	i.services[keptAs(tgt.client, service)] = t
	return t, nil
}

// held returns a usable ticket for a service without asking a KDC, or nil.
func (i *Initiator) held(service principal) *ticket {
	var client principal
	if i.cfg.Keytab != "" {
		i.mu.Lock()
		self := i.self
		i.mu.Unlock()
		if self == nil {
			return nil
		}
		client = self.client
	} else {
		c, err := i.readCache()
		if err != nil {
			return nil
		}
		client = c.client
		for _, t := range c.tickets {
			if t.client.equal(client) && matches(t.service, service) && i.good(t) {
				return t
			}
		}
	}
	if t := i.kept(client, service); i.good(t) {
		return t
	}
	return nil
}

// readCache reads the credential cache, and what it says of the KDC's clock.
func (i *Initiator) readCache() (*cache, error) {
	c, err := readCache(i.cache)
	if err == nil {
		i.kdc.clock.learn(c.ahead)
	}
	return c, err
}

// kept returns the ticket of a client for a service that a KDC gave before, or nil.
func (i *Initiator) kept(client, service principal) *ticket {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.services[keptAs(client, service)]
}

func keptAs(client, service principal) string { return client.String() + " " + service.String() }

// matches reports whether a ticket for has is a ticket for want, whose realm may be unknown.
func matches(has, want principal) bool {
	return slices.Equal(has.name, want.name) && (want.realm == "" || has.realm == want.realm)
}

// good reports whether a ticket may be presented.
func (i *Initiator) good(t *ticket) bool {
	if !t.usable(i.now()) {
		return false
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	_, refused := i.refused[t.id()]
	return !refused
}

// refuse prevents that a ticket is used again, because the service lacks the key for it.
func (i *Initiator) refuse(t *ticket) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.refused) >= maxKept {
		clear(i.refused)
	}
	i.refused[t.id()] = struct{}{}
}

// relearn brings the next login forward if a service's error c says that a clock was set since the
// last one; perhaps the tickets are over, too. It needs a keytab: without one, only kinit learns
// the KDC's clock. Nothing authenticates the service's error.
func (i *Initiator) relearn(c code) bool {
	if c != codeSkew && c != codeTicketExpired || i.cfg.Keytab == "" || i.kdc.clock.own {
		return false
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.skewed = true
	return true
}

// expired returns an error that says why a ticket is not usable.
func (i *Initiator) expired(t *ticket) error {
	if now := i.now(); t.start.Sub(now) > DefaultSkew {
		return failed(codeTicketNotYet, "the ticket of %v is good from %s on, and it is %s here: compare "+
			"the clocks of this host and of the KDC", t.client, at(t.start), at(now))
	}
	if i.cfg.Keytab != "" {
		return failed(codeTicketExpired, "the KDC's ticket for %v ends at %s, but it is %s here: compare the "+
			"clocks", t.client, at(t.end), at(i.now()))
	}
	if left := t.end.Sub(i.now()); left > 0 {
		return failed(codeTicketExpired, "the ticket of %v in credential cache %s is good for %v more, "+
			"and %v is the least: run kinit", t.client, i.cache, left.Round(time.Second), minLeft)
	}
	return failed(codeTicketExpired, "the ticket of %v in credential cache %s has expired at %s: "+
		"run kinit", t.client, i.cache, at(t.end))
}

// credentials returns the ticket-granting ticket and other existing tickets.
func (i *Initiator) credentials(ctx context.Context) (tgt *ticket, have []*ticket, err error) {
	if i.cfg.Keytab != "" {
		tgt, err = i.login(ctx)
		return tgt, nil, err
	}
	c, err := i.readCache()
	if err != nil {
		return nil, nil, err
	}
	for _, t := range c.tickets {
		if t.client.equal(c.client) && t.grantsIn() == c.client.realm &&
			(tgt == nil || t.end.After(tgt.end)) {
			tgt = t
		}
	}
	if tgt == nil {
		return nil, nil, failed(codeNoTicketGranting, "credential cache %s has no ticket-granting "+
			"ticket of %v with a key of %s: run kinit", i.cache, c.client, supported())
	}
	return tgt, c.tickets, nil
}

// Limits on renewing a ticket before that is necessary.
const (
	// limit on a renewal, beside half of the caller's time
	renewTimeout = 5 * time.Second
	renewPause   = time.Minute // after an attempt
)

// login returns the ticket-granting ticket from the keytab's keys. It gets a new one in the last
// sixth of the old one's lifetime, or to learn the KDC's clock.
func (i *Initiator) login(ctx context.Context) (*ticket, error) {
	now := i.now()
	i.mu.Lock()
	skewed := i.skewed
	i.mu.Unlock()
	early := i.self.usable(now)
	if early && (now.Before(i.renewAt) ||
		!skewed && i.self.end.Sub(now) > i.self.end.Sub(i.self.start)/6) {
		return i.self, nil
	}
	client, keys, err := i.keys()
	if err != nil {
		return nil, err
	}
	if early {
		d := renewTimeout
		if end, ok := ctx.Deadline(); ok {
			d = min(d, time.Until(end)/2)
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d)
		defer cancel()
	}
	t, err := i.kdc.login(ctx, client, keys)
	if err != nil && !early {
		return nil, err
	}
	i.renewAt = i.now().Add(renewPause)
	if err != nil {
		return i.self, nil // it is still valid
	}
	i.mu.Lock()
	i.self, i.skewed = t, false
	i.mu.Unlock()
	return t, nil
}

// keys reads the keytab, and returns the principal with its newest key of each encryption type.
func (i *Initiator) keys() (principal, []keyEntry, error) {
	entries, _, err := readKeytab(i.cfg.Keytab)
	if err != nil {
		return principal{}, nil, err
	}
	client := entries[0].owner
	if i.cfg.Principal != "" {
		if client, err = parsePrincipal(i.cfg.Principal); err != nil {
			return principal{}, nil, err
		}
	}
	if client.realm == "" {
		client.realm = i.kdc.conf.lib("default_realm")
	}
	keys := newest(entries, client)
	if len(keys) == 0 {
		var owners []principal
		for _, e := range entries {
			owners = append(owners, e.owner)
		}
		return principal{}, nil, failed(codeNoKey, "keytab %s has no key of %v, but of %s", i.cfg.Keytab,
			client, strings.Join(names(owners), ", "))
	}
	return client, keys, nil
}
