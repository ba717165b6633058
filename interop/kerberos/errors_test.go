//go:build interop

package kerberos

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/testkdc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss/krb5"
)

// clock is a clock that a test shifts.
type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time            { return time.Now().Add(time.Duration(c.ahead.Load())) }
func (c *clock) shift(ahead time.Duration) { c.ahead.Store(int64(ahead)) }

// says checks that err is an error of the mechanism and contains words.
func says(t *testing.T, err error, words ...string) {
	t.Helper()
	var status *gss.StatusError
	if !errors.As(err, &status) {
		t.Fatalf("got error %v", err)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%v; want ...%s...", err, w)
		}
	}
}

// TestSkew: if clocks differ, our error says by how much, and MIT's programs show the error from
// our token.
func TestSkew(t *testing.T) {
	k := realm(t, testkdc.Config{})
	keys := keytab(t, k, "nfs/server.test")
	cache := kinit(t, k)
	if _, err := testkdc.Output(k.Command("kvno", "-c", "FILE:"+cache, "nfs/server.test"), ""); err != nil {
		t.Fatal(err)
	}

	var ours clock
	a := acceptor(t, krb5.AcceptorConfig{Keytab: keys, Now: ours.now})
	ours.shift(12 * time.Minute)
	p := mitInitiator(t, k, cache)
	reply, made, err := a.Accept().Step(t.Context(), p.bytes("step", nil))
	if made != nil {
		t.Fatal("there is a context")
	}
	says(t, err, "alice@"+k.Realm, "behind ours", "set it")
	if _, err := p.ask("step", reply); err == nil || !strings.Contains(err.Error(), "Clock skew too great") {
		t.Errorf("MIT says: %v", err)
	}

	i := initiator(t, krb5.InitiatorConfig{Cache: cache, Conf: k.Conf(), Now: ours.now})
	n := initiate(t, i)
	token, _ := step(t, n, nil)
	words, err := mitAcceptor(t, k, keys).ask("step", token)
	if err == nil || !strings.Contains(err.Error(), "skew") {
		t.Fatalf("MIT says: %s, %v", words, err)
	}
	_, _, err = n.Step(t.Context(), fromHex(t, words[len(words)-1]))
	says(t, err, service, "clock skew too great", "behind ours")

	// The KDC reports it too.
	_, err = i.Initiate(t.Context(), "nfs@other.test")
	says(t, err, "the KDC's clock is 12m", "behind ours")
}

// TestExpired: tickets expire at both ends.
func TestExpired(t *testing.T) {
	k := realm(t, testkdc.Config{})
	var ours clock
	a := acceptor(t, krb5.AcceptorConfig{Keytab: keytab(t, k, "nfs/server.test"), Now: ours.now})
	i := initiator(t, krb5.InitiatorConfig{Cache: kinit(t, k, "-l", "10m"), Conf: k.Conf(), Now: ours.now})
	_, server := ourPair(t, i, a)
	if left := time.Until(server.Expires()); left < 14*time.Minute || left > 15*time.Minute {
		t.Errorf("a ticket of ten minutes has a context that ends in %v", left)
	}
	n := initiate(t, i)
	token, _ := step(t, n, nil)
	ours.shift(16 * time.Minute)
	_, _, err := a.Accept().Step(t.Context(), token)
	says(t, err, "has expired at", "kinit")
	_, err = i.Initiate(t.Context(), service)
	says(t, err, "alice@"+k.Realm, "has expired", "run kinit")
}

// TestNewKeys: if the service's keys change, the acceptor reports it. It reads its keytab again
// once the file has changed.
func TestNewKeys(t *testing.T) {
	k := realm(t, testkdc.Config{})
	path := keytab(t, k, "nfs/server.test")
	a := acceptor(t, krb5.AcceptorConfig{Keytab: path})
	if err := k.ChangeKeys("nfs/server.test"); err != nil {
		t.Fatal(err)
	}
	cache := kinit(t, k)
	i := initiator(t, krb5.InitiatorConfig{Cache: cache, Conf: k.Conf()})
	n := initiate(t, i)
	token, _ := step(t, n, nil)
	reply, _, err := a.Accept().Step(t.Context(), token)
	says(t, err, "keytab "+path, "nfs/server.test@"+k.Realm, "kvno 2", "ktadd")
	_, _, err = n.Step(t.Context(), reply)
	says(t, err, service, "keytab")
	p := mitInitiator(t, k, cache)
	reply, _, _ = a.Accept().Step(t.Context(), p.bytes("step", nil))
	if _, err := p.ask("step", reply); err == nil || !strings.Contains(err.Error(), "Key version") {
		t.Errorf("MIT says: %v", err)
	}
	if err := k.AddToKeytab(path, "nfs/server.test"); err != nil {
		t.Fatal(err)
	}
	ourPair(t, i, a)

	// An acceptor for another service.
	add(t, k, "host/server.test", testkdc.Principal{})
	a = acceptor(t, krb5.AcceptorConfig{Keytab: keytab(t, k, "host/server.test")})
	n = initiate(t, i)
	token, _ = step(t, n, nil)
	_, _, err = a.Accept().Step(t.Context(), token)
	says(t, err, "nfs/server.test@"+k.Realm, "it has host/server.test@"+k.Realm)
}

// TestUnknown: the error names the principal that the KDC does not have.
func TestUnknown(t *testing.T) {
	k := realm(t, testkdc.Config{})
	i := initiator(t, krb5.InitiatorConfig{Cache: kinit(t, k), Conf: k.Conf()})
	_, err := i.Initiate(t.Context(), "nfs@nobody.test")
	says(t, err, "nfs/nobody.test@"+k.Realm, "not a principal that the KDC knows")

	add(t, k, "gone", testkdc.Principal{})
	path := keytab(t, k, "gone")
	if err := k.Delete("gone"); err != nil {
		t.Fatal(err)
	}
	i = initiator(t, krb5.InitiatorConfig{Keytab: path, Conf: k.Conf()})
	_, err = i.Initiate(t.Context(), service)
	says(t, err, "gone@"+k.Realm, "not a principal that the KDC knows")

	// RC4 and other weak types are not requested.
	if err := k.Stop(); err != nil {
		t.Fatal(err)
	}
	_, err = i.Initiate(t.Context(), service)
	says(t, err, "no KDC of realm "+k.Realm+" has answered", k.Addr)
}

// TestKeytabRenews: a keytab gets tickets, with preauthentication, and renews them before they
// expire.
func TestKeytabRenews(t *testing.T) {
	k := realm(t, testkdc.Config{Libdefaults: []string{"clockskew = 1200"}})
	add(t, k, "brief", testkdc.Principal{MaxLife: 12 * time.Minute})
	add(t, k, "nfs/client.test", testkdc.Principal{})
	if _, err := k.Kadmin("modprinc", "+requires_preauth", "nfs/client.test"); err != nil {
		t.Fatal(err)
	}
	path := keytab(t, k, "nfs/client.test")
	i := initiator(t, krb5.InitiatorConfig{Keytab: path, Principal: "nfs/client.test", Conf: k.Conf()})
	a := acceptor(t, krb5.AcceptorConfig{Keytab: keytab(t, k, "nfs/server.test")})
	logins := func() int { return strings.Count(k.Log(), "ISSUE") }
	for range 3 {
		ourPair(t, i, a)
	}
	if n := logins(); n != 2 {
		t.Errorf("the KDC has issued %d tickets for three contexts, want 2:\n%s", n, k.Log())
	}

	// The ticket-granting ticket is in its last sixth. The service ticket is still valid.
	var ours clock
	i = initiator(t, krb5.InitiatorConfig{Keytab: keytab(t, k, "brief"), Conf: k.Conf(), Now: ours.now})
	before := logins()
	initiate(t, i)
	ours.shift(10*time.Minute + 30*time.Second)
	initiate(t, i)
	if n := logins() - before; n != 3 {
		t.Errorf("the KDC has issued %d tickets, want 3:\n%s", n, k.Log())
	}

	// The KDC's keys no longer match the keytab.
	if err := k.ChangeKeys("nfs/client.test"); err != nil {
		t.Fatal(err)
	}
	i = initiator(t, krb5.InitiatorConfig{Keytab: path, Conf: k.Conf()})
	_, err := i.Initiate(t.Context(), service)
	says(t, err, "nfs/client.test@"+k.Realm, "get a new keytab")
}

// TestCrossRealm: a service in another realm that shares a key with the client's realm. The realm
// comes from domain_realm.
func TestCrossRealm(t *testing.T) {
	k := realm(t, testkdc.Config{})
	other := realm(t, testkdc.Config{Realm: "OTHER.EXAMPLE"})
	shared := fmt.Sprintf("krbtgt/%s@%s", other.Realm, k.Realm)
	for _, in := range []*testkdc.KDC{k, other} {
		add(t, in, shared, testkdc.Principal{Password: "shared"})
	}
	path := k.File("conf")
	text := strings.Replace(k.ConfFor(k.Addr), "[realms]\n",
		fmt.Sprintf("[realms]\n%s = {\nkdc = %s\n}\n", other.Realm, other.Addr), 1)
	text = strings.Replace(text, "[domain_realm]\n", "[domain_realm]\n .other.test = OTHER.EXAMPLE\n", 1)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	add(t, other, "nfs/server.other.test", testkdc.Principal{})
	a := acceptor(t, krb5.AcceptorConfig{Keytab: keytab(t, other, "nfs/server.other.test")})
	i := initiator(t, krb5.InitiatorConfig{Cache: kinit(t, k), Conf: path})
	n, err := i.Initiate(t.Context(), "nfs@server.other.test")
	if err != nil {
		t.Fatal(err)
	}
	token, _ := step(t, n, nil)
	_, made := step(t, a.Accept(), token)
	if want := "alice@" + k.Realm; made.Peer() != want {
		t.Errorf("the peer is %s, want %s", made.Peer(), want)
	}
	// The realm of this host is not in krb5.conf, so the client's KDC is asked.
	add(t, k, "nfs/server.elsewhere", testkdc.Principal{})
	if _, err := i.Initiate(t.Context(), "nfs@server.elsewhere"); err != nil {
		t.Error(err)
	}
}
