package roce

import (
	"net"
	"net/netip"
	"testing"
)

// TestRouteToItself: a host reaches its own addresses over lo, whose MTU is large. The path MTU is
// that of the interface with the address, since a listener there refuses a larger one.
func TestRouteToItself(t *testing.T) {
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		ip := netip.MustParsePrefix(a.String()).Addr()
		if ip.IsLinkLocalUnicast() { // needs a zone
			continue
		}
		local, mtu, err := route(ip)
		if err != nil {
			t.Error(ip, err)
			continue
		}
		if want := mtuOf(ip); local == ip && mtu > want {
			t.Errorf("%v: path MTU %d, want at most %d", ip, mtu, want)
		}
	}
}
