package confproto

import (
	"net"
	"net/netip"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// TestPolicyAddresses checks which addresses are in the networks of Config.Clients, in all forms
// that the system may use.
func TestPolicyAddresses(t *testing.T) {
	networks := []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("fe80::/10")}
	for addr, want := range map[string]bool{
		"192.0.2.7": true, "::ffff:192.0.2.7": true, "198.51.100.7": false, "::ffff:198.51.100.7": false,
		"fe80::7": true, "fe80::7%eth0": true, "2001:db8::7": false,
	} {
		l, d := providers[0].make(t, 0, 0)
		from := net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(addr), 700))
		p := provider{name: "from " + addr, make: func(*testing.T, int, int) (transport.Listener, transport.Dialer) {
			return transport.WrapListener(l, func(ep transport.Endpoint) transport.Endpoint { return fromEndpoint{ep, from} }), d
		}}
		r := newRig(t, p, setup{programs: []oncrpc.Program{New(Config{Clients: networks})}})
		c := r.dial(rpcrdma.Config{})
		if _, err := Configure(t.Context(), c.Conn, Options{}); err != nil && !denied(err) || (err == nil) != want {
			t.Errorf("%s: got %v, want to be let in: %v", addr, err, want)
		}
	}
}

// fromEndpoint has its connection come from an address.
type fromEndpoint struct {
	transport.Endpoint
	from net.Addr
}

func (e fromEndpoint) Info() transport.Info {
	i := e.Endpoint.Info()
	i.RemoteAddr = e.from
	return i
}
