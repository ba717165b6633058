package krb5_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss/krb5"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss/krb5/internal/enctype"
)

// krb5.conf is read as MIT's krb5.conf(5) describes.
func TestConf(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	put("d/one.conf", "[realms]\nA = {\n kdc = three.a\n}\n")
	put("d/two", "[libdefaults]\n rdns = off\n")
	put("d/.hidden.conf", "[libdefaults]\n hidden = 1\n")
	put("d/back~", "[libdefaults]\n hidden = 2\n")
	first := put("first", `# a comment
; another
includedir `+filepath.Join(dir, "d")+`
include `+put("more", "[domain_realm]\n more.test = MORE\n")+`
[libdefaults]
	default_realm = A   
	default_realm = B
	quoted = "a \"b\" c"
	dns_lookup_kdc = False
[realms]
	A = {
		kdc = one.a:88
		kdc = two.a
		auth_to_local_names = {
			kdc = not.a.kdc
		}
		admin_server = one.a
	}
[domain_realm]
	Host.example.test = HOST
	.example.test = DOMAIN
	example.test = SELF
[plugins]
	x = {
		y = z
	}
`)
	second := put("second", "[libdefaults]\ndefault_realm = C\nother = 2\n[realms]\nA = {\nkdc = four.a\n}\n")
	c, err := krb5.ReadConf(filepath.Join(dir, "missing"), first, second)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"default_realm": "A", "quoted": `a "b" c`, "other": "2", "hidden": "", "x": "",
	} {
		if got := c.Lib(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if c.Flag("dns_lookup_kdc", true) || c.Flag("rdns", true) || !c.Flag("missing", true) {
		t.Error("flags are wrong")
	}
	if got, want := c.KDCs("A"), []string{"three.a", "one.a:88", "two.a", "four.a"}; !slices.Equal(got, want) {
		t.Errorf("KDCs %v, want %v", got, want)
	}
	for host, want := range map[string]string{
		"host.example.test": "HOST", "other.example.test": "DOMAIN", "a.b.example.test": "DOMAIN",
		"example.test": "SELF", "test": "", "more.test": "MORE", "else.where": "",
	} {
		if got := c.RealmOf(host); got != want {
			t.Errorf("%s is in %q, want %q", host, got, want)
		}
	}
	for _, bad := range []string{"[libdefaults", "}", "[realms]\nA = {\n", "what", "[realms]\nA = {\n[x]\n}", "include " + dir + "/none"} {
		if _, err := krb5.ReadConf(put("bad", bad)); err == nil || !strings.Contains(err.Error(), "bad") && !strings.Contains(err.Error(), "none") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := krb5.ReadConf(put("itself", "include "+filepath.Join(dir, "itself")+"\n")); err == nil {
		t.Error("a file that includes itself is read")
	}
	if _, err := krb5.ReadConf(filepath.Join(dir, "missing")); err == nil || !strings.Contains(err.Error(), "no krb5.conf") {
		t.Errorf("no file: %v", err)
	}
}

func TestPermitted(t *testing.T) {
	const (
		a128, a256 = "aes128-cts-hmac-sha1-96", "aes256-cts-hmac-sha1-96"
		s128, s256 = "aes128-cts-hmac-sha256-128", "aes256-cts-hmac-sha384-192"
	)
	for value, want := range map[string][]string{
		"": {a256, a128, s256, s128}, "rc4-hmac": nil, "aes128-cts": {a128},
		"aes256-sha2, aes256-cts": {s256, a256}, "AES": {a256, a128, s256, s128},
		"DEFAULT -aes256-cts +aes256-cts": {a128, s256, s128, a256}, "aes -aes128-sha2": {a256, a128, s256},
	} {
		if got := krb5.Permitted(value); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
	_, err := krb5.NewInitiator(krb5.InitiatorConfig{Conf: conf(t, " permitted_enctypes = rc4-hmac")})
	if err == nil || !strings.Contains(err.Error(), "permitted_enctypes") {
		t.Error(err)
	}
}

func TestParsePrincipal(t *testing.T) {
	for in, want := range map[string]string{
		"alice@A": "alice@A", "nfs/host": "nfs/host@", `a\/b\@c\\d/e@R`: `a\/b\@c\\d/e@R`, `a\nb@R`: `a\nb@R`,
	} {
		if got, err := krb5.ParsePrincipal(in); got != want || err != nil {
			t.Errorf("%s: %s, %v", in, got, err)
		}
	}
	for _, bad := range []string{"", "@R", "a@", "a//b@R", "a@b@c", `a\`} {
		if got, err := krb5.ParsePrincipal(bad); err == nil {
			t.Errorf("%q is %s", bad, got)
		}
	}
}

func TestWithPort(t *testing.T) {
	for in, want := range map[string]string{
		"kdc": "kdc:88", "kdc:750": "kdc:750", "[::1]": "[::1]:88", "[::1]:750": "[::1]:750", "::1": "[::1]:88",
	} {
		if got := krb5.WithPort(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func FuzzCache(f *testing.F) {
	r := newRig(enctype.AES256SHA1)
	t := r.ticket(f)
	f.Add(cacheBytes("alice", credential{[]string{"krbtgt", realm}, r.session, r.id, now, now, t}))
	f.Add([]byte{5, 3, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		client, n, err := krb5.ParseCache(b)
		if err == nil && (client == "" || n > len(b)) {
			t.Errorf("%q has %d tickets", client, n)
		}
	})
}
