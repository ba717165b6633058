package krb5_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jcmturner/gofork/encoding/asn1"
	"github.com/jcmturner/gokrb5/v8/asn1tools"
	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"

	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss/krb5"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss/krb5/internal/enctype"
)

const (
	realm   = "TEST.EXAMPLE"
	service = "nfs@server.test"
	kvno    = 3
)

// now is the constant time of these tests.
var now = time.Now().UTC().Truncate(time.Microsecond)

func atNow() time.Time { return now }

// rig is a client alice, a service nfs/server.test, and their keys. gokrb5 encodes and encrypts
// what they send.
type rig struct {
	id                       enctype.ID
	service, session, subkey []byte
}

func newRig(id enctype.ID) *rig {
	return &rig{id, id.NewKey(), id.NewKey(), id.NewKey()}
}

func name(parts ...string) types.PrincipalName {
	return types.PrincipalName{NameType: 1, NameString: parts}
}

func wireKey(id enctype.ID, key []byte) types.EncryptionKey {
	return types.EncryptionKey{KeyType: int32(id), KeyValue: key}
}

// apReq is the content of an AP-REQ.
type apReq struct {
	ticket  messages.Ticket
	part    messages.EncTicketPart
	auth    types.Authenticator
	options []int
	flags   uint32 // flags in the checksum
	key     []byte // encrypts the ticket
	session []byte // encrypts the authenticator
}

func flags(set ...int) asn1.BitString {
	b := types.NewKrbFlags()
	types.SetFlags(&b, set)
	return b
}

// request returns the token of a valid AP-REQ, as changed by change.
func (r *rig) request(tb testing.TB, change func(*apReq)) []byte {
	tb.Helper()
	q := &apReq{
		ticket: messages.Ticket{TktVNO: 5, Realm: realm, SName: name("nfs", "server.test")},
		part: messages.EncTicketPart{
			Flags: flags(), Key: wireKey(r.id, r.session), CRealm: realm, CName: name("alice"),
			AuthTime: now.Add(-time.Hour), EndTime: now.Add(time.Hour),
		},
		auth: types.Authenticator{
			AVNO: 5, CRealm: realm, CName: name("alice"), CTime: now.Truncate(time.Second),
			Cusec:  now.Nanosecond() / 1000,
			SubKey: wireKey(r.id, r.subkey), SeqNumber: 42,
		},
		options: []int{2}, flags: 2 | 16 | 32, key: r.service, session: r.session,
	}
	q.ticket.EncPart.KVNO = kvno
	q.auth.Cksum = types.Checksum{CksumType: 0x8003, Checksum: make([]byte, 24)}
	q.auth.Cksum.Checksum[0] = 16
	if change != nil {
		change(q)
	}
	if len(q.auth.Cksum.Checksum) >= 24 {
		binary.LittleEndian.PutUint32(q.auth.Cksum.Checksum[20:], q.flags)
	}
	version := q.ticket.EncPart.KVNO
	part := asn1tools.AddASNAppTag(must(asn1.Marshal(q.part)), 3)
	q.ticket.EncPart = must(crypto.GetEncryptedData(part, wireKey(r.id, q.key), 2, version))
	auth := must(q.auth.Marshal())
	req := messages.APReq{
		PVNO: 5, MsgType: 14, APOptions: flags(q.options...), Ticket: q.ticket,
		EncryptedAuthenticator: must(crypto.GetEncryptedData(auth, wireKey(r.id, q.session), 11, 0)),
	}
	return framed(0x0100, must(req.Marshal()))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// framed returns a token of RFC 2743 section 3.1, encoded by gokrb5's fork of encoding/asn1.
func framed(id uint16, msg []byte) []byte {
	oid := must(asn1.Marshal(asn1.ObjectIdentifier{1, 2, 840, 113554, 1, 2, 2}))
	inner := append(binary.BigEndian.AppendUint16(oid, id), msg...)
	return asn1tools.AddASNAppTag(inner, 0)
}

// keytabBytes returns a keytab of version 2 with one key for each name.
func keytabBytes(id enctype.ID, key []byte, version uint8, names ...[]string) []byte {
	b := []byte{5, 2}
	for _, parts := range names {
		e := binary.BigEndian.AppendUint16(nil, uint16(len(parts)))
		for _, s := range append([]string{realm}, parts...) {
			e = binary.BigEndian.AppendUint16(e, uint16(len(s)))
			e = append(e, s...)
		}
		e = binary.BigEndian.AppendUint32(e, 1)          // kind of name
		e = binary.BigEndian.AppendUint32(e, 1795000000) // when
		e = append(e, version)
		e = binary.BigEndian.AppendUint16(e, uint16(id))
		e = binary.BigEndian.AppendUint16(e, uint16(len(key)))
		e = append(e, key...)
		b = binary.BigEndian.AppendUint32(b, uint32(len(e)))
		b = append(b, e...)
	}
	return b
}

func write(tb testing.TB, b []byte) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "file")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

func (r *rig) keytab(tb testing.TB) string {
	return write(tb, keytabBytes(r.id, r.service, kvno, []string{"nfs", "server.test"}))
}

func (r *rig) acceptor(tb testing.TB, change func(*krb5.AcceptorConfig)) *krb5.Acceptor {
	tb.Helper()
	cfg := krb5.AcceptorConfig{Keytab: r.keytab(tb), Now: atNow}
	if change != nil {
		change(&cfg)
	}
	a, err := krb5.NewAcceptor(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

// credential is an entry of a credential cache.
type credential struct {
	service    []string
	key        []byte
	id         enctype.ID
	start, end time.Time
	ticket     []byte
}

// cacheBytes returns a credential cache of version 4.
func cacheBytes(client string, all ...credential) []byte {
	u16 := binary.BigEndian.AppendUint16
	u32 := binary.BigEndian.AppendUint32
	data := func(b, d []byte) []byte { return append(u32(b, uint32(len(d))), d...) }
	principal := func(b []byte, parts ...string) []byte {
		b = u32(u32(b, 1), uint32(len(parts)))
		b = data(b, []byte(realm))
		for _, p := range parts {
			b = data(b, []byte(p))
		}
		return b
	}
	b := []byte{5, 4, 0, 12, 0, 1, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0}
	b = principal(b, client)
	for _, c := range all {
		b = principal(principal(b, client), c.service...)
		b = data(u16(b, uint16(c.id)), c.key)
		for _, t := range []time.Time{c.start, c.start, c.end, c.end} {
			b = u32(b, uint32(t.Unix()))
		}
		b = append(b, 0, 0, 0, 0, 0)     // no user-to-user authentication, no flags
		b = u32(u32(b, 0), 0)            // no addresses, no authorization data
		b = data(data(b, c.ticket), nil) // no second ticket
	}
	return b
}

// ticket returns alice's ticket for the service.
func (r *rig) ticket(tb testing.TB) []byte {
	tb.Helper()
	var req messages.APReq
	token := r.request(tb, nil)
	if err := req.Unmarshal(token[bytes.Index(token, []byte{1, 0, 0x6e})+2:]); err != nil {
		tb.Fatal(err)
	}
	return must(req.Ticket.Marshal())
}

// cache returns alice's credential cache, with a ticket for the service and a ticket-granting
// ticket for which no KDC exists.
func (r *rig) cache(tb testing.TB) string {
	t := r.ticket(tb)
	start, end := now.Add(-time.Hour), now.Add(time.Hour)
	return write(tb, cacheBytes("alice",
		credential{[]string{"krbtgt", realm}, r.session, r.id, start, end, t},
		credential{[]string{"nfs", "server.test"}, r.session, r.id, start, end, t}))
}

// conf returns a krb5.conf with a KDC that does not exist.
func conf(tb testing.TB, lines ...string) string {
	text := "[libdefaults]\n default_realm = " + realm + "\n dns_lookup_kdc = no\n"
	for _, l := range lines {
		text += l + "\n"
	}
	return write(tb, []byte(text))
}

func (r *rig) initiator(tb testing.TB, change func(*krb5.InitiatorConfig)) *krb5.Initiator {
	tb.Helper()
	cfg := krb5.InitiatorConfig{Cache: r.cache(tb), Conf: conf(tb), Now: atNow}
	if change != nil {
		change(&cfg)
	}
	i, err := krb5.NewInitiator(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return i
}

// pair creates a context between two ends of ours.
func (r *rig) pair(tb testing.TB) (client, server gss.Context) {
	tb.Helper()
	n, err := r.initiator(tb, nil).Initiate(tb.Context(), service)
	if err != nil {
		tb.Fatal(err)
	}
	token, _, err := n.Step(tb.Context(), nil)
	if err != nil {
		tb.Fatal(err)
	}
	reply, server, err := r.acceptor(tb, nil).Accept().Step(tb.Context(), token)
	if err != nil {
		tb.Fatal(err)
	}
	if _, client, err = n.Step(tb.Context(), reply); err != nil {
		tb.Fatal(err)
	}
	return client, server
}
