//go:build interop

package kerberos

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/testkdc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss/krb5"
)

const service = "nfs@server.test"

func acceptor(t *testing.T, cfg krb5.AcceptorConfig) *krb5.Acceptor {
	t.Helper()
	a, err := krb5.NewAcceptor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func initiator(t *testing.T, cfg krb5.InitiatorConfig) *krb5.Initiator {
	t.Helper()
	i, err := krb5.NewInitiator(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// keytab makes a keytab with a principal's keys.
func keytab(t *testing.T, k *testkdc.KDC, names ...string) string {
	t.Helper()
	path, err := k.Keytab(names...)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// kinit makes a credential cache for alice.
func kinit(t *testing.T, k *testkdc.KDC, arg ...string) string {
	t.Helper()
	path, err := k.Kinit("alice", "secret", arg...)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// mitInitiator starts MIT's library as the client alice.
func mitInitiator(t *testing.T, k *testkdc.KDC, cache string, arg ...string) *peer {
	t.Helper()
	cmd := k.Command(peerProgram, append([]string{"initiate", service}, arg...)...)
	cmd.Env = append(cmd.Env, "KRB5CCNAME=FILE:"+cache)
	return startPeer(t, cmd)
}

// mitAcceptor starts MIT's library as a service.
func mitAcceptor(t *testing.T, k *testkdc.KDC, keytab string) *peer {
	t.Helper()
	cmd := k.Command(peerProgram, "accept")
	cmd.Env = append(cmd.Env, "KRB5_KTNAME=FILE:"+keytab)
	return startPeer(t, cmd)
}

// step takes a step of a negotiation that must succeed.
func step(t *testing.T, n gss.Negotiation, token []byte) ([]byte, gss.Context) {
	t.Helper()
	reply, made, err := n.Step(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	return reply, made
}

func initiate(t *testing.T, i *krb5.Initiator) gss.Negotiation {
	t.Helper()
	n, err := i.Initiate(t.Context(), service)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// enctypes are the supported encryption types of session keys.
var enctypes = []string{
	"aes128-cts-hmac-sha1-96", "aes256-cts-hmac-sha1-96",
	"aes128-cts-hmac-sha256-128", "aes256-cts-hmac-sha384-192",
}

// eachEnctype runs a test in realms with one encryption type each.
func eachEnctype(t *testing.T, test func(*testing.T, *testkdc.KDC)) {
	for _, e := range enctypes {
		t.Run(e, func(t *testing.T) {
			test(t, realm(t, testkdc.Config{Enctypes: []string{e}}))
		})
	}
}

// ourPair makes a context between our initiator and our acceptor.
func ourPair(t *testing.T, i *krb5.Initiator, a *krb5.Acceptor) (client, server gss.Context) {
	t.Helper()
	n := initiate(t, i)
	token, _ := step(t, n, nil)
	reply, server := step(t, a.Accept(), token)
	_, client = step(t, n, reply)
	if client == nil || server == nil {
		t.Fatal("no context")
	}
	return client, server
}

// TestOurs: our client with our service, from a cache made by MIT's kinit and from a keytab.
func TestOurs(t *testing.T) {
	eachEnctype(t, func(t *testing.T, k *testkdc.KDC) {
		a := acceptor(t, krb5.AcceptorConfig{Keytab: keytab(t, k, "nfs/server.test")})
		for _, c := range []struct {
			peer string
			cfg  krb5.InitiatorConfig
		}{
			{"alice@" + k.Realm, krb5.InitiatorConfig{Cache: kinit(t, k), Conf: k.Conf()}},
			{"nfs/server.test@" + k.Realm, krb5.InitiatorConfig{
				Keytab: keytab(t, k, "nfs/server.test"), Conf: k.Conf()}},
		} {
			client, server := ourPair(t, initiator(t, c.cfg), a)
			if got := server.Peer(); got != c.peer {
				t.Errorf("the server's peer is %s, want %s", got, c.peer)
			}
			if got, want := client.Peer(), "nfs/server.test@"+k.Realm; got != want {
				t.Errorf("the client's peer is %s, want %s", got, want)
			}
			if got := server.Expires().Sub(client.Expires()); got != krb5.DefaultSkew {
				t.Errorf("the server's context ends %v after the client's, want %v", got, krb5.DefaultSkew)
			}
			exchange(t, client, server)
			exchange(t, server, client)
		}
	})
}

// exchange sends both kinds of tokens in one direction.
func exchange(t *testing.T, from, to gss.Context) {
	t.Helper()
	for _, text := range texts() {
		msg := [][]byte{text[:len(text)/3], text[len(text)/3:]}
		mic, err := from.AppendMIC(nil, msg)
		if err != nil || len(mic) > from.MaxMIC() {
			t.Fatalf("a checksum of %d bytes, %v; want at most %d", len(mic), err, from.MaxMIC())
		}
		if err := to.VerifyMIC(mic, [][]byte{text}); err != nil {
			t.Errorf("checksum of %d bytes: %v", len(text), err)
		}
		token, err := from.AppendWrap([]byte("before"), msg)
		if want := 6 + from.WrapLen(len(text)); err != nil || len(token) != want {
			t.Fatalf("AppendWrap of %d bytes: %d bytes, %v; want %d", len(text), len(token), err, want)
		}
		if got, err := to.Unwrap(token[6:]); err != nil || !bytes.Equal(got, text) {
			t.Errorf("Unwrap of %d bytes: %d bytes, %v", len(text), len(got), err)
		}
	}
}

// texts are messages of several lengths.
func texts() [][]byte {
	var all [][]byte
	for _, n := range []int{0, 1, 15, 16, 17, 100, 8191, 8192, 65537, 1 << 20} {
		text := make([]byte, n)
		for i := range text {
			text[i] = byte(i * 7)
		}
		all = append(all, text)
	}
	return all
}

// withPeer exchanges all kinds of tokens with MIT's library.
func withPeer(t *testing.T, ours gss.Context, p *peer) {
	t.Helper()
	for _, text := range texts() {
		msg := [][]byte{text}
		if err := ours.VerifyMIC(p.bytes("mic", text), msg); err != nil {
			t.Errorf("MIT's checksum of %d bytes: %v", len(text), err)
		}
		mic, err := ours.AppendMIC(nil, msg)
		if err != nil {
			t.Fatal(err)
		}
		p.must("verify", text, mic)

		for _, kind := range []string{"wrap", "rotated"} {
			token := p.bytes(kind, text)
			if rrc := token[6:8]; (kind == "rotated") != (rrc[0] != 0 || rrc[1] != 0) {
				t.Errorf("%s: the rotation is %x", kind, rrc)
			}
			if got, err := ours.Unwrap(token); err != nil || !bytes.Equal(got, text) {
				t.Errorf("MIT's %s of %d bytes: %d bytes, %v", kind, len(text), len(got), err)
			}
		}
		if got, err := ours.Unwrap(p.bytes("plainwrap", text)); err == nil {
			t.Errorf("a token of %d bytes without confidentiality was accepted: %d bytes", len(text), len(got))
		}
		token, err := ours.AppendWrap(nil, msg)
		if err != nil {
			t.Fatal(err)
		}
		words := p.must("unwrap", token)
		if words[0] != "sealed" || !bytes.Equal(fromHex(t, words[1]), text) {
			t.Errorf("MIT has unwrapped %d bytes, %s", len(words[1])/2, words[0])
		}
		token[len(token)-1] ^= 1
		if _, err := p.ask("unwrap", token); err == nil {
			t.Error("MIT has unwrapped a token that was changed")
		}
	}
}

// TestAcceptMIT: MIT's library calls our service, with and without mutual authentication.
func TestAcceptMIT(t *testing.T) {
	eachEnctype(t, func(t *testing.T, k *testkdc.KDC) {
		a := acceptor(t, krb5.AcceptorConfig{Keytab: keytab(t, k, "nfs/server.test")})
		cache := kinit(t, k)
		for _, arg := range [][]string{nil, {"oneway"}} {
			p := mitInitiator(t, k, cache, arg...)
			words := p.must("step", nil)
			reply, made := step(t, a.Accept(), fromHex(t, words[1]))
			if (words[0] == "more") != (reply != nil) || made == nil {
				t.Fatalf("MIT says %s, and our reply has %d bytes", words[0], len(reply))
			}
			if reply != nil {
				if words := p.must("step", reply); words[0] != "made" {
					t.Fatalf("MIT's context is not made: %s", words)
				}
			}
			if want := "alice@" + k.Realm; made.Peer() != want {
				t.Errorf("the peer is %s, want %s", made.Peer(), want)
			}
			withPeer(t, made, p)
		}
	})
}

// TestInitiateMIT: we call a service that uses MIT's library.
func TestInitiateMIT(t *testing.T) {
	eachEnctype(t, func(t *testing.T, k *testkdc.KDC) {
		i := initiator(t, krb5.InitiatorConfig{Cache: kinit(t, k), Conf: k.Conf()})
		p := mitAcceptor(t, k, keytab(t, k, "nfs/server.test"))
		n := initiate(t, i)
		token, _ := step(t, n, nil)
		words := p.must("step", token)
		if words[0] != "made" {
			t.Fatalf("MIT's context is not made: %s", words)
		}
		_, made := step(t, n, fromHex(t, words[1]))
		if got := strings.Join(p.must("peer"), " "); got != "alice@"+k.Realm {
			t.Errorf("MIT takes us for %s", got)
		}
		withPeer(t, made, p)
	})
}
