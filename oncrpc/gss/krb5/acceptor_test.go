package krb5_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"

	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss/krb5"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss/krb5/internal/enctype"
)

// minorBase is the minor status of MIT's library for error code 0 of the protocol.
const minorBase = 0x96c73a00

// refused checks that an acceptor refuses a token with a code and words. It returns the code in the
// KRB-ERROR for the client.
func refused(t *testing.T, a *krb5.Acceptor, token []byte, code uint32, words string) {
	t.Helper()
	reply, made, err := a.Accept().Step(t.Context(), token)
	var status *gss.StatusError
	if made != nil || !errors.As(err, &status) {
		t.Fatalf("got a context %v and error %v", made, err)
	}
	if status.Minor != minorBase+code || !strings.Contains(err.Error(), words) {
		t.Errorf("minor %d, %v; want %d, ...%s...", status.Minor-minorBase, err, code, words)
	}
	const errorFrame = "\x06\x09\x2a\x86\x48\x86\xf7\x12\x01\x02\x02\x03\x00"
	_, msg, ok := bytes.Cut(reply, []byte(errorFrame))
	var e messages.KRBError
	if !ok || e.Unmarshal(msg) != nil || uint32(e.ErrorCode) != code {
		t.Errorf("the token is %x, with error %d; want a KRB-ERROR with %d", reply, e.ErrorCode, code)
	}
	if e.Realm != realm || e.SName.PrincipalNameString() != "nfs/server.test" || !e.STime.Equal(now.Truncate(time.Second)) {
		t.Errorf("the KRB-ERROR is from %v@%s at %v", e.SName, e.Realm, e.STime)
	}
}

// Each fault in an AP-REQ has its code of the protocol and an explanation.
func TestRefused(t *testing.T) {
	r := newRig(enctype.AES256SHA1)
	for _, tt := range []struct {
		name   string
		change func(*apReq)
		code   uint32
		words  string
	}{
		{"expired", func(q *apReq) { q.part.EndTime = now.Add(-6 * time.Minute) }, 32, "kinit"},
		{"not yet valid", func(q *apReq) { q.part.StartTime = now.Add(6 * time.Minute) }, 33, "valid from"},
		{"postdated", func(q *apReq) { q.part.Flags = flags(7) }, 33, "postdated"},
		{"clock ahead", func(q *apReq) { q.auth.CTime = now.Add(12 * time.Minute).Truncate(time.Second) }, 37,
			"alice@TEST.EXAMPLE's host is 12m0s ahead of ours"},
		{"clock behind", func(q *apReq) { q.auth.CTime = now.Add(-6 * time.Minute).Truncate(time.Second) }, 37,
			"6m0s behind ours"},
		{"another service", func(q *apReq) { q.ticket.SName = name("nfs", "other.test") }, 35,
			"nfs/other.test@TEST.EXAMPLE, and keytab"},
		{"another realm", func(q *apReq) { q.ticket.Realm = "OTHER" }, 35, "nfs/server.test@OTHER"},
		{"another kvno", func(q *apReq) { q.ticket.EncPart.KVNO, q.key = 4, make([]byte, 32) }, 44,
			"kvno 4 and aes256-cts-hmac-sha1-96: it has kvno 3"},
		{"another key", func(q *apReq) { q.key = make([]byte, 32) }, 31, "does not decrypt"},
		{"another session", func(q *apReq) { q.session = make([]byte, 32) }, 31, "authenticator"},
		{"session of RC4", func(q *apReq) { q.part.Key = types.EncryptionKey{KeyType: 23, KeyValue: make([]byte, 16)} }, 14, "arcfour-hmac"},
		{"session key too short", func(q *apReq) { q.part.Key.KeyValue = q.part.Key.KeyValue[:31] }, 14, "31 bytes"},
		{"subkey of RC4", func(q *apReq) {
			q.auth.SubKey = types.EncryptionKey{KeyType: 23, KeyValue: make([]byte, 16)}
			q.flags = 0
		}, 14, "subkey"},
		{"another client", func(q *apReq) { q.auth.CName = name("bob") }, 36, "authenticator of bob@TEST.EXAMPLE"},
		{"another client's realm", func(q *apReq) { q.auth.CRealm = "OTHER" }, 36, "alice@OTHER"},
		{"nobody", func(q *apReq) { q.part.CName.NameString = []string{}; q.auth.CName.NameString = []string{} }, 40, "no name"},
		{"user-to-user", func(q *apReq) { q.options = []int{1} }, 45, "user-to-user"},
		{"another version", func(q *apReq) { q.ticket.TktVNO = 4 }, 39, "version"},
		{"another authenticator", func(q *apReq) { q.auth.AVNO = 4 }, 39, "version"},
		{"another checksum", func(q *apReq) { q.auth.Cksum.CksumType = 16 }, 50, "0x8003"},
		{"short checksum", func(q *apReq) { q.auth.Cksum.Checksum = q.auth.Cksum.Checksum[:23] }, 50, "malformed"},
		{"long bindings", func(q *apReq) { q.auth.Cksum.Checksum[0] = 17 }, 50, "malformed"},
		{"unchecked path", func(q *apReq) {
			q.part.CRealm, q.auth.CRealm = "OTHER", "OTHER"
			q.part.Transited.Contents = []byte("X")
		}, 51, "realms"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			refused(t, r.acceptor(t, nil), r.request(t, tt.change), tt.code, tt.words)
		})
	}
}

// What is within the skew, or irrelevant, is accepted.
func TestAccepted(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*apReq)
		peer   string
	}{
		{"good", nil, "alice@TEST.EXAMPLE"},
		{"just expired", func(q *apReq) { q.part.EndTime = now.Add(-4 * time.Minute) }, "alice@TEST.EXAMPLE"},
		{"valid in a moment", func(q *apReq) { q.part.StartTime = now.Add(4 * time.Minute) }, "alice@TEST.EXAMPLE"},
		{"clock ahead", func(q *apReq) { q.auth.CTime = now.Add(4 * time.Minute).Truncate(time.Second) }, "alice@TEST.EXAMPLE"},
		{"no kvno", func(q *apReq) { q.ticket.EncPart.KVNO = 0 }, "alice@TEST.EXAMPLE"},
		{"other addresses", func(q *apReq) { q.part.CAddr = types.HostAddresses{{AddrType: 2, Address: []byte{10, 0, 0, 1}}} }, "alice@TEST.EXAMPLE"},
		{"unknown flags", func(q *apReq) { q.flags |= 1 << 30 }, "alice@TEST.EXAMPLE"},
		{"extensions", func(q *apReq) { q.auth.Cksum.Checksum = append(q.auth.Cksum.Checksum, 1, 2, 3) }, "alice@TEST.EXAMPLE"},
		{"channel bindings", func(q *apReq) { q.auth.Cksum.Checksum[4] = 0xff }, "alice@TEST.EXAMPLE"},
		{"checked path", func(q *apReq) {
			q.part.CRealm, q.auth.CRealm = "OTHER", "OTHER"
			q.part.Transited.Contents, q.part.Flags = []byte("X"), flags(12)
		}, "alice@OTHER"},
		{"parts", func(q *apReq) { q.part.CName = name("host", "a@b/c"); q.auth.CName = q.part.CName }, `host/a\@b\/c@TEST.EXAMPLE`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(enctype.AES128SHA256)
			var end time.Time
			token := r.request(t, func(q *apReq) {
				if tt.change != nil {
					tt.change(q)
				}
				end = q.part.EndTime
			})
			reply, made, err := r.acceptor(t, nil).Accept().Step(t.Context(), token)
			if err != nil || made == nil || len(reply) == 0 {
				t.Fatalf("%x, %v, %v", reply, made, err)
			}
			if made.Peer() != tt.peer {
				t.Errorf("the peer is %s, want %s", made.Peer(), tt.peer)
			}
			if want := end.Add(5 * time.Minute).Truncate(time.Second); !made.Expires().Equal(want) {
				t.Errorf("the context ends at %v, want %v", made.Expires(), want)
			}
		})
	}
}

// An acceptor with a principal rejects tickets for others in its keytab.
func TestPrincipal(t *testing.T) {
	r := newRig(enctype.AES256SHA1)
	path := write(t, keytabBytes(r.id, r.service, kvno, []string{"nfs", "server.test"}, []string{"host", "server.test"}))
	host := func() []byte {
		return r.request(t, func(q *apReq) { q.ticket.SName = name("host", "server.test") })
	}
	any := r.acceptor(t, func(c *krb5.AcceptorConfig) { c.Keytab = path })
	if got := strings.Join(any.Principals(), " "); got != "nfs/server.test@TEST.EXAMPLE host/server.test@TEST.EXAMPLE" {
		t.Errorf("principals: %s", got)
	}
	if _, _, err := any.Accept().Step(t.Context(), host()); err != nil {
		t.Error(err)
	}
	for _, p := range []string{"nfs/server.test", "nfs/server.test@TEST.EXAMPLE"} {
		a := r.acceptor(t, func(c *krb5.AcceptorConfig) { c.Keytab, c.Principal = path, p })
		refused(t, a, host(), 35, "it has nfs/server.test@TEST.EXAMPLE")
		if _, _, err := a.Accept().Step(t.Context(), r.request(t, nil)); err != nil {
			t.Error(err)
		}
	}
	for _, p := range []string{"nfs/other.test", "nfs/server.test@OTHER"} {
		_, err := krb5.NewAcceptor(krb5.AcceptorConfig{Keytab: path, Principal: p})
		if err == nil || !strings.Contains(err.Error(), "host/server.test@TEST.EXAMPLE") {
			t.Errorf("principal %s: %v", p, err)
		}
	}
}

// An authenticator is accepted only once. When no more can be remembered, none is accepted.
func TestReplay(t *testing.T) {
	r := newRig(enctype.AES256SHA1)
	at := now
	a := r.acceptor(t, func(c *krb5.AcceptorConfig) {
		c.MaxReplays, c.Now = 16, func() time.Time { return at }
	})
	from := func(client string) []byte {
		return r.request(t, func(q *apReq) { q.part.CName, q.auth.CName = name(client), name(client) })
	}
	accept := func(token []byte) error {
		_, _, err := a.Accept().Step(t.Context(), token)
		return err
	}
	first := from("alice")
	if err := accept(first); err != nil {
		t.Fatal(err)
	}
	refused(t, a, first, 34, "replay")
	if err := accept(from("alice")); err != nil {
		t.Fatal(err)
	}
	refused(t, a, from("alice"), 60, "share") // an eighth of 16
	for _, client := range strings.Split("bcdefgbcdefghi", "") {
		if err := accept(from(client)); err != nil {
			t.Fatal(err)
		}
	}
	refused(t, a, from("j"), 60, "MaxReplays")
	at = at.Add(4 * time.Minute)
	if err := accept(first); err == nil || !strings.Contains(err.Error(), "replay") {
		t.Errorf("after four minutes: %v", err)
	}
	at = at.Add(7 * time.Minute) // 11 in total: the authenticator itself is too old
	if err := accept(first); err == nil || !strings.Contains(err.Error(), "clock") {
		t.Errorf("after eleven minutes: %v", err)
	}
	late := r.request(t, func(q *apReq) { q.auth.CTime = at.Truncate(time.Second) })
	if err := accept(late); err != nil {
		t.Errorf("there is no room after eleven minutes: %v", err)
	}
}

// Tokens of another mechanism, or of none, are refused. After an unknown token of Kerberos, another
// may follow (RFC 4121 section 4.1).
func TestFraming(t *testing.T) {
	r := newRig(enctype.AES256SHA1)
	a := r.acceptor(t, nil)
	good := r.request(t, nil)
	spnego := append([]byte{0x60, 9, 6, 6, 0x2b, 6, 1, 5, 5, 2}, 0xa0)
	for _, tt := range []struct {
		name  string
		token []byte
		major gss.Major
	}{
		{"nothing", nil, gss.DefectiveToken},
		{"no frame", good[1:], gss.DefectiveToken},
		{"too long for its length", append(bytes.Clone(good), 0), gss.DefectiveToken},
		{"too long", make([]byte, krb5.MaxToken+1), gss.DefectiveToken},
		{"SPNEGO", spnego, gss.BadMech},
		{"another mechanism", []byte{0x60, 5, 6, 1, 0x2a, 1, 0}, gss.BadMech},
	} {
		_, made, err := a.Accept().Step(t.Context(), tt.token)
		var status *gss.StatusError
		if made != nil || !errors.As(err, &status) || status.Major != tt.major {
			t.Errorf("%s: %v, %v", tt.name, made, err)
		}
	}
	n := a.Accept()
	reply, made, err := n.Step(t.Context(), framed(0x0999, []byte("what")))
	if made != nil || err != nil || !bytes.Contains(reply, []byte{0x03, 0x00, 0x7e}) {
		t.Errorf("an unknown token: %x, %v, %v; want a KRB-ERROR", reply, made, err)
	}
	if _, made, err = n.Step(t.Context(), good); made == nil || err != nil {
		t.Errorf("an AP-REQ after an unknown token: %v, %v", made, err)
	}
	if _, made, err = n.Step(t.Context(), good); made != nil || err == nil {
		t.Errorf("an AP-REQ for a context that is made: %v, %v", made, err)
	}
}

// A truncated AP-REQ, or one changed where it is protected, makes no context. Elsewhere, a change
// that is accepted has no effect.
func TestDamagedRequest(t *testing.T) {
	r := newRig(enctype.AES128SHA1)
	token := r.request(t, nil)
	sealed := sealedParts(t, token)
	a := r.acceptor(t, nil)
	keytab := r.keytab(t)
	for i := range token {
		if _, made, err := a.Accept().Step(t.Context(), token[:i]); made != nil || err == nil {
			t.Fatalf("cut to %d bytes: %v, %v", i, made, err)
		}
		changed := bytes.Clone(token)
		changed[i] ^= 1 << (i % 8)
		// Use another acceptor, because a replay is refused in any case.
		other := r.acceptor(t, func(c *krb5.AcceptorConfig) { c.Keytab = keytab })
		_, made, err := other.Accept().Step(t.Context(), changed)
		if made != nil && (sealed[i] || made.Peer() != "alice@TEST.EXAMPLE") {
			t.Fatalf("byte %d changed to %02x: a context with %s", i, changed[i], made.Peer())
		}
		if made == nil && err == nil && i > 16 {
			t.Fatalf("byte %d changed to %02x: neither context nor error", i, changed[i])
		}
	}
	if _, made, err := a.Accept().Step(t.Context(), token); made == nil || err != nil {
		t.Errorf("as it was: %v, %v", made, err)
	}
}

// sealedParts marks the encrypted bytes of an AP-REQ.
func sealedParts(t *testing.T, token []byte) []bool {
	t.Helper()
	var req messages.APReq
	if err := req.Unmarshal(token[bytes.Index(token, []byte{1, 0, 0x6e})+2:]); err != nil {
		t.Fatal(err)
	}
	sealed := make([]bool, len(token))
	for _, part := range [][]byte{req.Ticket.EncPart.Cipher, req.EncryptedAuthenticator.Cipher} {
		at := bytes.Index(token, part)
		for i := range part {
			sealed[at+i] = true
		}
	}
	return sealed
}
