package nfsmount_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsmount"
)

// TestFlavorKerberosAlone: a server that lists AUTH_SYS and AUTH_NONE need not take RPCSEC_GSS.
func TestFlavorKerberosAlone(t *testing.T) {
	m := &mounter{exports: []mount3.Export{{Path: "/"}}, results: map[string]mount3.MntRes{
		"/": {Root: handle("h"), Flavors: []mount3.Flavor{mount3.FlavorSys, mount3.FlavorNone}}}}
	_, err := nfsmount.Mount(t.Context(), connect(t, m.programs()), "/", nfsmount.Config{
		Host: "server", Flavors: []mount3.Flavor{mount3.FlavorKrb5p}})
	const want = "mount refused: server: / is for callers with AUTH_SYS or AUTH_NONE credentials, " +
		"but the client has only Kerberos (krb5p) ones"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestFlavorChosen: the server's order decides among the client's flavours, and the caller learns
// the server's flavours.
func TestFlavorChosen(t *testing.T) {
	const (
		none, sys    = mount3.FlavorNone, mount3.FlavorSys
		krb5, krb5p  = mount3.FlavorKrb5, mount3.FlavorKrb5p
		unknown      = mount3.Flavor(390006)
		refused      = mount3.Flavor(1 << 31)
		refusedWords = "mount refused: server: / is for callers with Kerberos (krb5p) or flavour 390006 " +
			"credentials, but the client has only AUTH_SYS or Kerberos (krb5) ones"
	)
	type flavors = []mount3.Flavor
	for _, tt := range []struct {
		name        string
		takes, have flavors
		want        mount3.Flavor
	}{
		{"the server's first", flavors{krb5p, krb5, sys}, flavors{sys, krb5, krb5p}, krb5p},
		{"the first that there is", flavors{unknown, krb5p, krb5, sys}, flavors{sys, krb5}, krb5},
		{"the only one", flavors{krb5p, sys}, flavors{sys}, sys},
		{"nothing is said", nil, flavors{krb5, sys}, krb5},
		{"none is looked at", flavors{none}, flavors{sys, krb5}, sys},
		{"none is looked at, or another", flavors{none, krb5}, flavors{sys, krb5}, krb5},
		{"none is looked at, with Kerberos before it", flavors{sys, none}, flavors{krb5, sys}, sys},
		{"none is looked at, with AUTH_NONE", flavors{none}, flavors{krb5, sys}, sys},
		{"there is none of them", flavors{krb5p, unknown}, flavors{sys, krb5}, refused},
	} {
		m := &mounter{exports: []mount3.Export{{Path: "/"}},
			results: map[string]mount3.MntRes{"/": {Root: handle("h"), Flavors: tt.takes}}}
		root, err := nfsmount.Mount(t.Context(), connect(t, m.programs()), "/", nfsmount.Config{
			Host: "server", Flavors: tt.have})
		if tt.want == refused {
			var f *nfsmount.FlavorError
			if !errors.As(err, &f) || !cmp.Equal(f.Flavors, tt.takes) || !cmp.Equal(f.Have, tt.have) ||
				err.Error() != refusedWords {
				t.Errorf("%s: %v, want %s", tt.name, err, refusedWords)
			}
			continue
		}
		if err != nil || root.Flavor != tt.want || !cmp.Equal(root.Flavors, tt.takes) {
			t.Errorf("%s: %v of %v, %v; want %v", tt.name, root.Flavor, root.Flavors, err, tt.want)
		}
	}
}
