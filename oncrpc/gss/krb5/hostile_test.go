package krb5_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"unicode"

	"github.com/jcmturner/gokrb5/v8/messages"

	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss/krb5"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss/krb5/internal/enctype"
)

// maxError is the length in bytes of the longest error that a peer can make us log.
const maxError = 1500

// tame checks that an error is safe to write to a log or a terminal, whatever a peer sent.
func tame(t *testing.T, err error) {
	t.Helper()
	var status *gss.StatusError
	if !errors.As(err, &status) {
		t.Fatalf("got %v, want a status", err)
	}
	if n := len(err.Error()); n > maxError {
		t.Errorf("the error has %d bytes: %.200q...", n, err)
	}
	if i := strings.IndexFunc(err.Error(), func(r rune) bool {
		return !unicode.IsPrint(r) || r == unicode.ReplacementChar
	}); i >= 0 {
		t.Errorf("byte %d of the error cannot be printed: %.200q", i, err)
	}
}

// terrible are names that would flood a log or take over a terminal.
var terrible = []string{
	strings.Repeat("long", 12000), strings.Repeat("\x1b[2J", 50), "a\r\nlevel=INFO msg=forged",
	"\xff\xfe", "\u202e\u2066", strings.Repeat("\x00", 1000), strings.Repeat("\x1b", 8000),
}

// Anybody can choose the service name in a ticket, and a KDC of another realm the client's name.
// Neither may flood a log or write control characters into it.
func TestTerribleNames(t *testing.T) {
	r := newRig(enctype.AES256SHA1)
	for _, bad := range terrible {
		for _, change := range []func(*apReq){
			func(q *apReq) { q.ticket.SName = name("nfs", bad) },
			func(q *apReq) { q.ticket.SName = name(strings.Split(bad, "")...) },
			func(q *apReq) { q.ticket.Realm = bad },
			func(q *apReq) { q.auth.CName = name(bad) },
			func(q *apReq) { q.auth.CRealm = bad },
			func(q *apReq) { q.part.CName, q.auth.AVNO = name(bad), 4 },
			func(q *apReq) { q.part.CRealm, q.auth.AVNO = bad, 4 },
		} {
			token := r.request(t, change)
			if len(token) > krb5.MaxToken {
				continue // of its own accord
			}
			reply, made, err := r.acceptor(t, nil).Accept().Step(t.Context(), token)
			if made != nil {
				t.Errorf("a context is made for %.40q", bad)
			}
			tame(t, err)
			if len(reply) > 1000 {
				t.Errorf("the answer has %d bytes", len(reply))
			}
		}
	}
}

// A name that is too long is refused, even if it is authentic, because it would be kept with each
// context. The longest allowed name gets a context.
func TestLongName(t *testing.T) {
	r := newRig(enctype.AES256SHA1)
	as := func(n int) (gss.Context, error) {
		client := name(strings.Repeat("a", n-len(realm)-1))
		token := r.request(t, func(q *apReq) { q.part.CName, q.auth.CName = client, client })
		_, made, err := r.acceptor(t, nil).Accept().Step(t.Context(), token)
		return made, err
	}
	if made, err := as(1024); err != nil || len(made.Peer()) != 1024 {
		t.Errorf("a name of 1024 bytes: %v", err)
	}
	made, err := as(1025)
	if made != nil || err == nil || !strings.Contains(err.Error(), "1025 bytes") {
		t.Errorf("a name of 1025 bytes: %v", err)
	}
}

// The text of a server's error is shown safely.
func TestTerribleText(t *testing.T) {
	r := newRig(enctype.AES256SHA1)
	for _, bad := range terrible {
		n, err := r.initiator(t, nil).Initiate(t.Context(), service)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := n.Step(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		e := messages.KRBError{
			PVNO: 5, MsgType: 30, STime: now, ErrorCode: 60, Realm: realm,
			SName: name("nfs", bad), EText: bad,
		}
		_, made, err := n.Step(t.Context(), framed(0x0300, must(e.Marshal())))
		if made != nil {
			t.Error("a context is made by an error")
		}
		tame(t, err)
	}
}

// Eight greedy clients leave room in the replay cache, so another one gets its context.
func TestGreedyClients(t *testing.T) {
	r := newRig(enctype.AES256SHA1)
	a := r.acceptor(t, func(c *krb5.AcceptorConfig) { c.MaxReplays = 80 })
	accepted := func(client string) bool {
		token := r.request(t, func(q *apReq) { q.part.CName, q.auth.CName = name(client), name(client) })
		_, _, err := a.Accept().Step(t.Context(), token)
		return err == nil
	}
	for range 12 {
		for _, greedy := range strings.Split("ABCDEFGH", "") {
			accepted(greedy)
		}
	}
	for i := range 3 {
		if !accepted("alice") {
			t.Fatalf("context %d of somebody else is refused", i)
		}
	}
}

// Unsigned tokens are refused, whatever their shape: nested a thousand levels deep, with lengths
// beyond their end, or made of one kind of element.
func TestShapesOfTokens(t *testing.T) {
	r := newRig(enctype.AES256SHA1)
	a := r.acceptor(t, nil)
	nested := func(tag byte) []byte {
		var b []byte
		for len(b) < 4000 { // the rest would take long to make
			inner := b
			switch n := len(inner); {
			case n < 0x80:
				b = append([]byte{tag, byte(n)}, inner...)
			case n < 0x10000:
				b = append([]byte{tag, 0x82, byte(n >> 8), byte(n)}, inner...)
			}
		}
		return b
	}
	for _, msg := range [][]byte{
		nested(0x30), nested(0x6e), nested(0xa0), nested(0x24),
		{0x6e, 0x84, 0x40, 0, 0, 0}, {0x6e, 0x80, 0, 0},
		{0x6e, 0x88, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		bytes.Repeat([]byte{0x30, 0x80}, 30000), bytes.Repeat([]byte{0x1f, 0xff}, 30000),
		append([]byte{0x6e, 0x82, 0x10, 0, 0x30, 0x82, 0x0f, 0xfc},
			bytes.Repeat([]byte{0xa2, 0}, 0xffc/2)...),
	} {
		for _, token := range [][]byte{msg, framed(0x0100, msg)} {
			_, made, err := a.Accept().Step(t.Context(), token)
			if made != nil {
				t.Errorf("a context is made of %.20x", token)
			}
			tame(t, err)
		}
	}
}
