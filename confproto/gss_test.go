package confproto

import (
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss/gsstest"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// TestGSS: only callers with the demanded service of RPCSEC_GSS may configure. The context is made
// on the same connection, with short and with long tokens.
func TestGSS(t *testing.T) {
	sys, err := oncrpc.AuthSys(oncrpc.SysCred{Machine: "client"})
	if err != nil {
		t.Fatal(err)
	}
	const unproved = gss.Service(0)
	for _, tt := range []struct {
		name string
		cfg  Config
		may  map[gss.Service]bool
	}{
		{"anybody", Config{}, map[gss.Service]bool{
			unproved: true, gss.None: true, gss.Integrity: true, gss.Privacy: true}},
		{"the flavour", Config{Flavors: []oncrpc.AuthFlavor{oncrpc.FlavorGSS}}, map[gss.Service]bool{
			gss.None: true, gss.Integrity: true, gss.Privacy: true}},
		{"proof", Config{Service: gss.None}, map[gss.Service]bool{
			gss.None: true, gss.Integrity: true, gss.Privacy: true}},
		{"integrity", Config{Service: gss.Integrity}, map[gss.Service]bool{
			gss.Integrity: true, gss.Privacy: true}},
		{"privacy", Config{Service: gss.Privacy}, map[gss.Service]bool{gss.Privacy: true}},
		{"a flavour that cannot have it", Config{Service: gss.None,
			Flavors: []oncrpc.AuthFlavor{oncrpc.FlavorSys}}, nil},
	} {
		for _, tokens := range []int{0, 5000} {
			m := &gsstest.Mechanism{Secret: []byte("secret"), TokenLen: tokens}
			onProviders(t, func(t *testing.T, p provider) {
				sf := gss.NewServerFlavor(gss.ServerConfig{Acceptor: m.Acceptor(), Logger: quiet})
				r := newRig(t, p, setup{programs: []oncrpc.Program{New(tt.cfg)},
					flavors: []oncrpc.ServerFlavor{oncrpc.AcceptAuthSys(), oncrpc.AcceptAuthNone(), sf}})
				for _, service := range []gss.Service{unproved, gss.None, gss.Integrity, gss.Privacy} {
					flavor := sys
					if service != unproved {
						flavor = gss.NewClientFlavor(gss.ClientConfig{Initiator: m.Initiator("alice@TEST"),
							Target: "nfs@server", Service: service})
					}
					c := r.dial(rpcrdma.Config{})
					was := c.Settings()
					_, err := Configure(t.Context(), c.Conn, Options{Flavor: flavor})
					switch is := c.Settings(); {
					case tt.may[service] && (err != nil || is == was):
						t.Errorf("%s, %v, tokens of %d: %v; in force is %+v", tt.name, service, tokens, err, is)
					case !tt.may[service] && (!denied(err) || is != was):
						t.Errorf("%s, %v, tokens of %d: %v; in force is %+v, want AUTH_TOOWEAK",
							tt.name, service, tokens, err, is)
					}
				}
			})
		}
	}
}
