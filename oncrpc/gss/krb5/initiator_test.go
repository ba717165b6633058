package krb5_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"

	"github.com/rpcrdma/go-rpcrdma/internal/deadport"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss/krb5"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss/krb5/internal/enctype"
)

// fails checks that a service cannot be called, and the error.
func fails(t *testing.T, i *krb5.Initiator, service string, words ...string) {
	t.Helper()
	n, err := i.Initiate(t.Context(), service)
	var status *gss.StatusError
	if n != nil || !errors.As(err, &status) {
		t.Fatalf("%v, %v", n, err)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%v; want ...%s...", err, w)
		}
	}
}

// An error about the cache says what to do.
func TestCacheErrors(t *testing.T) {
	r := newRig(enctype.AES256SHA1)
	ticket := r.ticket(t)
	tgt := credential{[]string{"krbtgt", realm}, r.session, r.id, now.Add(-time.Hour), now.Add(time.Hour), ticket}
	old := tgt
	old.end = now.Add(-time.Minute)
	brief := tgt
	brief.end = now.Add(30 * time.Second)
	rc4 := tgt
	rc4.id, rc4.key = 23, r.session[:16]
	good := cacheBytes("alice", tgt)
	for _, tt := range []struct {
		name  string
		cache []byte
		words []string
	}{
		{"empty", nil, []string{"malformed", "run kinit"}},
		{"no ticket", cacheBytes("alice"), []string{"no ticket-granting ticket of alice@TEST.EXAMPLE", "run kinit"}},
		{"expired", cacheBytes("alice", old), []string{"has expired at ", "alice@TEST.EXAMPLE", "run kinit"}},
		{"expires", cacheBytes("alice", brief), []string{"is good for ", "s more, and 1m0s is the least: run kinit"}},
		{"RC4", cacheBytes("alice", rc4), []string{"aes256-cts-hmac-sha1-96", "run kinit"}},
		{"version 2", append([]byte{5, 2}, good[2:]...), []string{"version"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := write(t, tt.cache)
			fails(t, r.initiator(t, func(c *krb5.InitiatorConfig) { c.Cache = path }), service,
				append(tt.words, path)...)
		})
	}
	missing := filepath.Join(t.TempDir(), "missing")
	fails(t, r.initiator(t, func(c *krb5.InitiatorConfig) { c.Cache = missing }), service, missing, "run kinit")
	whole := len(cacheBytes("alice")) // without any ticket
	for n := range good {
		if client, tickets, err := krb5.ParseCache(good[:n]); err == nil && n != whole {
			t.Errorf("cut to %d bytes: %s with %d tickets", n, client, tickets)
		}
	}
}

// Caches that are not files, and invalid names, have different errors.
func TestNames(t *testing.T) {
	r := newRig(enctype.AES256SHA1)
	for _, kind := range []string{"KEYRING:persistent:1000", "KCM:", "DIR:/run/user/1000/krb5cc", "API:x"} {
		_, err := krb5.NewInitiator(krb5.InitiatorConfig{Cache: kind, Conf: conf(t)})
		name, _, _ := strings.Cut(kind, ":")
		want := fmt.Sprintf("only files are read (FILE:PATH), not %s: kinit -c FILE:/tmp/krb5cc_%d, and "+
			"KRB5CCNAME=FILE:/tmp/krb5cc_%[2]d", name, os.Getuid())
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v, want ...%s", kind, err, want)
		}
		t.Setenv("KRB5CCNAME", kind)
		if _, err := krb5.NewInitiator(krb5.InitiatorConfig{Conf: conf(t)}); err == nil {
			t.Errorf("KRB5CCNAME=%s is taken", kind)
		}
	}
	t.Setenv("KRB5CCNAME", "FILE:"+r.cache(t))
	i := r.initiator(t, func(c *krb5.InitiatorConfig) { c.Cache = "" })
	if _, err := i.Initiate(t.Context(), "nfs@SERVER.test."); err != nil {
		t.Errorf("by KRB5CCNAME, and the host in other letters: %v", err)
	}
	for _, s := range []string{"", "nfs", "nfs@", "@server.test", "nfs/server.test@TEST.EXAMPLE"} {
		fails(t, i, s, "GSS_S_BAD_NAME")
	}
	t.Setenv("KRB5CCNAME", "")
	byConf := conf(t, " default_ccache_name = FILE:"+r.cache(t))
	i = r.initiator(t, func(c *krb5.InitiatorConfig) { c.Cache, c.Conf = "", byConf })
	if _, err := i.Initiate(t.Context(), service); err != nil {
		t.Errorf("by default_ccache_name: %v", err)
	}
	dir, who := t.TempDir(), "%{username}" // it stays if the user has no name
	if u, err := user.LookupId(strconv.Itoa(os.Geteuid())); err == nil {
		who = u.Username
	}
	byConf = conf(t, " default_ccache_name = FILE:"+filepath.Join(dir, "%{username}.%{uid}"))
	i = r.initiator(t, func(c *krb5.InitiatorConfig) { c.Cache, c.Conf = "", byConf })
	fails(t, i, service, filepath.Join(dir, fmt.Sprintf("%s.%d", who, os.Getuid()))+": run kinit")
}

// Waiting for a KDC that does not answer ends with the context. A KDC that does not exist fails at
// once.
func TestNoKDC(t *testing.T) {
	r := newRig(enctype.AES256SHA1)
	const other = "nfs@other.test"
	fails(t, r.initiator(t, nil), other, "no kdc of realm TEST.EXAMPLE")

	dead := deadport.New(t, "127.0.0.1").String()
	i := r.initiator(t, func(c *krb5.InitiatorConfig) {
		c.Conf = conf(t, "[realms]", realm+" = {", "kdc = "+dead, "}")
	})
	fails(t, i, other, "no KDC of realm TEST.EXAMPLE has answered, see [realms] in krb5.conf: ", dead)
	if _, err := i.Initiate(t.Context(), other); strings.Contains(err.Error(), "\n") {
		t.Errorf("%v: more than a line", err)
	}

	silent := func() (net.Listener, *krb5.Initiator) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		return l, r.initiator(t, func(c *krb5.InitiatorConfig) {
			c.Conf = conf(t, "[realms]", realm+" = {", "kdc = "+l.Addr().String(), "}")
		})
	}
	_, i = silent()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := i.Initiate(ctx, other); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a KDC that is silent: %v", err)
	}
	// Another caller waits for the first, but only within its own time.
	l, i := silent()
	busy, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan error)
	go func() {
		_, err := i.Initiate(busy, other)
		done <- err
	}()
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	late, cancelLate := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancelLate()
	if _, err := i.Initiate(late, "nfs@third.test"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while another waits: %v", err)
	}
	// It does not wait if there is a ticket.
	if _, err := i.Initiate(t.Context(), service); err != nil {
		t.Errorf("with a ticket, while another waits: %v", err)
	}
	stop()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that gives up: %v", err)
	}
}

// A KDC that has only UDP is asked over UDP, and again if the first request is lost.
func TestUDP(t *testing.T) {
	r := newRig(enctype.AES256SHA1)
	l, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		b := make([]byte, 64<<10)
		for n := 0; ; n++ {
			_, from, err := l.ReadFrom(b)
			if err != nil {
				return
			}
			if n > 0 {
				_, _ = l.WriteTo(krbError(7), from)
			}
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	i := r.initiator(t, func(c *krb5.InitiatorConfig) {
		c.Conf = conf(t, "[realms]", realm+" = {", "kdc = "+l.LocalAddr().String(), "}")
	})
	fails(t, i, "nfs@other.test", "not a principal that the KDC knows")
}

// Both ends create contexts concurrently.
func TestConcurrent(t *testing.T) {
	r := newRig(enctype.AES256SHA1)
	i, a := r.initiator(t, nil), r.acceptor(t, nil)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 20 {
				n, err := i.Initiate(t.Context(), service)
				if err != nil {
					t.Error(err)
					return
				}
				token, _, _ := n.Step(t.Context(), nil)
				reply, server, err := a.Accept().Step(t.Context(), token)
				if err != nil || server == nil {
					t.Errorf("the acceptor: %v", err)
					return
				}
				if _, client, err := n.Step(t.Context(), reply); err != nil || client == nil {
					t.Errorf("the initiator: %v", err)
				}
			}
		})
	}
	all.Wait()
}

// fakeKDC answers each request with the same bytes, over TCP.
func fakeKDC(t *testing.T, reply []byte) (confLines []string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			buf := make([]byte, 64<<10)
			_, _ = c.Read(buf)
			_, _ = c.Write(binary.BigEndian.AppendUint32(nil, uint32(len(reply))))
			_, _ = c.Write(reply)
			c.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return []string{"[realms]", realm + " = {", "kdc = " + l.Addr().String(), "}"}
}

func krbError(code int32) []byte {
	e := messages.NewKRBError(name("krbtgt", realm), realm, code, "the KDC's words")
	e.STime, e.Susec = now.Add(20*time.Minute).Truncate(time.Second), now.Nanosecond()/1000
	return must(e.Marshal())
}

// Refusals of a KDC are explained.
func TestKDCErrors(t *testing.T) {
	r := newRig(enctype.AES256SHA1)
	for _, tt := range []struct {
		code  int32
		words string
	}{
		{7, "nfs/other.test@TEST.EXAMPLE is not a principal that the KDC knows: write the server's full name, "},
		{14, "permitted_enctypes"},
		{32, "run kinit"},
		{37, "the KDC's clock is 20m0s ahead of ours"},
		{12, "the KDC's words"},
		{99, "Kerberos error 99"},
	} {
		i := r.initiator(t, func(c *krb5.InitiatorConfig) { c.Conf = conf(t, fakeKDC(t, krbError(tt.code))...) })
		fails(t, i, "nfs@other.test", tt.words)
	}
	abroad := conf(t, append(fakeKDC(t, krbError(7)), "[domain_realm]", "other.test = OTHER.EXAMPLE")...)
	fails(t, r.initiator(t, func(c *krb5.InitiatorConfig) { c.Conf = abroad }), "nfs@other.test",
		"TEST.EXAMPLE and OTHER.EXAMPLE do not trust each other: kinit in OTHER.EXAMPLE, or set up")
	for _, reply := range [][]byte{nil, {0x7e}, {0x7e, 0}, {0x6d, 0}, {0x6d, 0x82, 0xff, 0xff}, bytes.Repeat([]byte{0x30}, 5000)} {
		i := r.initiator(t, func(c *krb5.InitiatorConfig) { c.Conf = conf(t, fakeKDC(t, reply)...) })
		fails(t, i, "nfs@other.test", "GSS_S_")
	}
	keytab := write(t, keytabBytes(r.id, r.service, kvno, []string{"alice"}))
	for code, words := range map[int32]string{
		6: "alice@TEST.EXAMPLE is not a principal that the KDC knows", 24: "get a new keytab",
		18: "administrator", 23: "administrator",
	} {
		i := r.initiator(t, func(c *krb5.InitiatorConfig) {
			c.Keytab, c.Conf = keytab, conf(t, fakeKDC(t, krbError(code))...)
		})
		fails(t, i, service, words)
	}
	i := r.initiator(t, func(c *krb5.InitiatorConfig) { c.Keytab, c.Principal = keytab, "bob" })
	fails(t, i, service, keytab, "no key of bob@TEST.EXAMPLE, but of alice@TEST.EXAMPLE")
}

// begun returns a context that has sent its AP-REQ.
func begun(t *testing.T, i *krb5.Initiator) (n gss.Negotiation, token []byte) {
	t.Helper()
	n, err := i.Initiate(t.Context(), service)
	if err != nil {
		t.Fatal(err)
	}
	token, made, err := n.Step(t.Context(), nil)
	if err != nil || made != nil {
		t.Fatalf("%v, %v", made, err)
	}
	return n, token
}

// A KRB-ERROR is explained. A ticket for which the service has no key is not used again.
func TestErrorToken(t *testing.T) {
	r := newRig(enctype.AES256SHA1)
	i := r.initiator(t, nil)
	n, _ := begun(t, i)
	_, made, err := n.Step(t.Context(), framed(0x0300, krbError(37)))
	if made != nil || err == nil || !strings.Contains(err.Error(), "its clock is 20m0s ahead of ours") {
		t.Errorf("%v, %v", made, err)
	}
	n, _ = begun(t, i)
	if _, _, err = n.Step(t.Context(), framed(0x0300, krbError(60))); err == nil || !strings.Contains(err.Error(), `"the KDC's words"`) {
		t.Error(err)
	}
	n, _ = begun(t, i)
	if _, _, err = n.Step(t.Context(), framed(0x0300, krbError(44))); err == nil || !strings.Contains(err.Error(), "keytab") {
		t.Error(err)
	}
	// the cache's ticket is refused, and no other can be got
	fails(t, i, service, "no kdc of realm")

	i = r.initiator(t, nil)
	n, _ = begun(t, i)
	e := n.(gss.Explainer)
	said := e.Explain(&gss.StatusError{Major: gss.Failure, Minor: minorBase + 37})
	if said.Major != gss.Failure || said.Minor != minorBase+37 || !strings.Contains(said.Error(), "clock") {
		t.Error(said)
	}
	if said := e.Explain(&gss.StatusError{Major: gss.Failure, Minor: 5}); said.Err != nil {
		t.Error(said)
	}
	if said := e.Explain(&gss.StatusError{Major: gss.Failure, Minor: minorBase + 31}); !strings.Contains(said.Error(), "keytab") {
		t.Error(said)
	}
	fails(t, i, service, "no kdc of realm")
}

// An AP-REP that is truncated, changed, or for another request makes no context.
func TestDamagedReply(t *testing.T) {
	r := newRig(enctype.AES128SHA256)
	at := now
	i := r.initiator(t, func(c *krb5.InitiatorConfig) { c.Now = func() time.Time { return at } })
	n, token := begun(t, i)
	reply, _, err := r.acceptor(t, nil).Accept().Step(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	var rep messages.APRep
	if err := rep.Unmarshal(reply[bytes.Index(reply, []byte{2, 0, 0x6f})+2:]); err != nil {
		t.Fatal(err)
	}
	sealed := bytes.Index(reply, rep.EncPart.Cipher)
	for k := range reply {
		n, _ := begun(t, i)
		if _, made, err := n.Step(t.Context(), reply[:k]); made != nil || err == nil {
			t.Fatalf("cut to %d bytes: %v, %v", k, made, err)
		}
		changed := bytes.Clone(reply)
		changed[k] ^= 1 << (k % 8)
		n, _ = begun(t, i)
		if _, made, err := n.Step(t.Context(), changed); made != nil && k >= sealed || made == nil && err == nil {
			t.Fatalf("byte %d changed: %v, %v", k, made, err)
		}
	}
	at = at.Add(time.Millisecond)
	other, _ := begun(t, i)
	if _, made, err := other.Step(t.Context(), reply); made != nil || err == nil || !strings.Contains(err.Error(), "another request") {
		t.Errorf("for another request: %v, %v", made, err)
	}
	if _, made, err := n.Step(t.Context(), reply); made == nil || err != nil {
		t.Errorf("as it was: %v, %v", made, err)
	}
	if _, made, err := n.Step(t.Context(), reply); made != nil || err == nil {
		t.Errorf("again: %v, %v", made, err)
	}
}

// The AP-REQ conforms to RFC 4121 section 4.1.1 and RFC 2203 section 5.2.2, as read by gokrb5.
func TestRequest(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		_, token := begun(t, r.initiator(t, nil))
		var req messages.APReq
		if err := req.Unmarshal(token[bytes.Index(token, []byte{1, 0, 0x6e})+2:]); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(req.APOptions.Bytes, []byte{0x20, 0, 0, 0}) {
			t.Errorf("options %x, want mutual-required alone", req.APOptions.Bytes)
		}
		if err := req.DecryptAuthenticator(wireKey(r.id, r.session)); err != nil {
			t.Fatal(err)
		}
		a := req.Authenticator
		want := append([]byte{16, 0, 0, 0}, make([]byte, 16)...)
		want = append(want, 0x32, 0, 0, 0) // mutual, confidentiality, integrity
		if a.Cksum.CksumType != 0x8003 || !bytes.Equal(a.Cksum.Checksum, want) {
			t.Errorf("checksum %#x: %x", a.Cksum.CksumType, a.Cksum.Checksum)
		}
		if a.SubKey.KeyType != int32(r.id) || len(a.SubKey.KeyValue) != r.id.KeyLen() {
			t.Errorf("subkey of type %d, %d bytes", a.SubKey.KeyType, len(a.SubKey.KeyValue))
		}
		if !a.CTime.Equal(now.Truncate(time.Second)) || a.Cusec != now.Nanosecond()/1000 {
			t.Errorf("time %v and %d", a.CTime, a.Cusec)
		}
		if !a.CName.Equal(types.NewPrincipalName(1, "alice")) || a.CRealm != realm {
			t.Errorf("client %v@%s", a.CName, a.CRealm)
		}
	})
}
