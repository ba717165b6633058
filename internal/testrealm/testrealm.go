// Package testrealm is a Kerberos realm without a KDC. The keys are made up, and the client has its
// ticket already, so tests can create contexts on any machine. It protects nothing, because the
// service's password is public. For a real realm, see package testkdc.
package testrealm

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
	"github.com/jcmturner/gokrb5/v8/iana/nametype"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

const (
	// Name is the name of the realm.
	Name = "TEST.EXAMPLE"
	// Client is the principal that has a ticket.
	Client = "alice@" + Name
	// Target is the service that the ticket is for, in GSS-API notation.
	Target = "nfs@server.test"

	user    = "alice"
	service = "nfs"
	host    = "server.test"

	enctype  = etypeID.AES256_CTS_HMAC_SHA1_96
	version  = 1              // of the service's key
	password = "not a secret" // the service's key is derived from it
	// lifetime is how long a ticket is valid.
	lifetime = 24 * time.Hour
)

// Files are the files that the two ends of a context read. The service's key is always the same, so
// unrelated processes can be the two ends.
type Files struct {
	Keytab string // of the service
	Cache  string // the client's, with its ticket
	Conf   string // a krb5.conf
}

// Write writes the files to an existing directory.
func Write(dir string) (*Files, error) {
	f := &Files{filepath.Join(dir, "keytab"), filepath.Join(dir, "ccache"),
		filepath.Join(dir, "krb5.conf")}
	now := time.Now().UTC().Truncate(time.Second)
	keys := keytab.New()
	if err := keys.AddEntry(service+"/"+host, Name, password, now, version, enctype); err != nil {
		return nil, fmt.Errorf("testrealm: %w", err)
	}
	keytabBytes, err := keys.Marshal()
	if err != nil {
		return nil, fmt.Errorf("testrealm: %w", err)
	}
	start, end := now.Add(-time.Minute), now.Add(lifetime)
	ticket, session, err := messages.NewTicket(
		types.NewPrincipalName(nametype.KRB_NT_PRINCIPAL, user), Name,
		types.NewPrincipalName(nametype.KRB_NT_SRV_INST, service+"/"+host), Name,
		types.NewKrbFlags(), keys, enctype, version, start, start, end, end)
	if err != nil {
		return nil, fmt.Errorf("testrealm: %w", err)
	}
	encoded, err := ticket.Marshal()
	if err != nil {
		return nil, fmt.Errorf("testrealm: %w", err)
	}
	c := cache{key: session.KeyValue, start: start, end: end, ticket: encoded}
	for path, b := range map[string][]byte{
		f.Keytab: keytabBytes,
		f.Cache:  c.encode(),
		f.Conf: []byte("[libdefaults]\n default_realm = " + Name + "\n dns_lookup_kdc = false\n" +
			"[domain_realm]\n " + host + " = " + Name + "\n"),
	} {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			return nil, fmt.Errorf("testrealm: %w", err)
		}
	}
	return f, nil
}

// cache is a credential cache with a ticket for the service. A client looks for its ticket-granting
// ticket first, so the cache has an entry for that, too, although there is no KDC to use it with.
type cache struct {
	key        []byte
	start, end time.Time
	ticket     []byte
}

// encode returns a cache file of version 4, in the format that MIT's library documents.
func (c *cache) encode() []byte {
	b := []byte{5, 4, 0, 0} // no tags
	b = appendPrincipal(b, user)
	b = c.appendEntry(b, "krbtgt", Name)
	return c.appendEntry(b, service, host)
}

func (c *cache) appendEntry(b []byte, server ...string) []byte {
	b = appendPrincipal(appendPrincipal(b, user), server...)
	b = appendData(binary.BigEndian.AppendUint16(b, uint16(enctype)), c.key)
	for _, t := range []time.Time{c.start, c.start, c.end, c.end} {
		b = binary.BigEndian.AppendUint32(b, uint32(t.Unix()))
	}
	b = append(b, 0, 0, 0, 0, 0)                    // not of user to user, no flags
	b = append(b, 0, 0, 0, 0, 0, 0, 0, 0)           // no addresses, no authorization data
	return appendData(appendData(b, c.ticket), nil) // no second ticket
}

func appendPrincipal(b []byte, name ...string) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(nametype.KRB_NT_PRINCIPAL))
	b = binary.BigEndian.AppendUint32(b, uint32(len(name)))
	b = appendData(b, []byte(Name))
	for _, part := range name {
		b = appendData(b, []byte(part))
	}
	return b
}

func appendData(b, data []byte) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(data))), data...)
}
