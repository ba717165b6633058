package peerhost

import (
	"net"
	"net/netip"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// named and written are addresses of unknown providers.
type (
	withHost string
	written  string
)

func (withHost) Network() string   { return "fabric" }
func (withHost) String() string    { return "queue pair 7" }
func (a withHost) Host() string    { return string(a) }
func (written) Network() string    { return "fabric" }
func (a written) String() string   { return string(a) }
func ip(s string) net.IP           { return net.ParseIP(s) }
func prefix(s string) netip.Prefix { return netip.MustParsePrefix(s) }

func TestOf(t *testing.T) {
	for _, tt := range []struct {
		name string
		addr net.Addr
		want string
	}{
		{"TCP", &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 7}, "192.0.2.1"},
		{"TCP, IPv4 in IPv6", net.TCPAddrFromAddrPort(netip.MustParseAddrPort("[::ffff:192.0.2.1]:7")), "192.0.2.1"},
		{"TCP, zone", &net.TCPAddr{IP: ip("fe80::1"), Port: 7, Zone: "eth0"}, "fe80::1%eth0"},
		{"UDP", &net.UDPAddr{IP: ip("2001:db8::1"), Port: 7}, "2001:db8::1"},
		{"Unix", &net.UnixAddr{Name: "/run/socket", Net: "unix"}, "/run/socket"},
		{"Unix, a name that looks otherwise", &net.UnixAddr{Name: "192.0.2.1:7", Net: "unix"}, "192.0.2.1:7"},
		{"loopback", loopback.Addr("client#1"), "client#1"},
		{"pipe", pipe(t), "pipe"},
		{"Host", withHost("node-3"), "node-3"},
		{"Host, an IP address", withHost("::ffff:192.0.2.1"), "192.0.2.1"},
		{"host and port", written("node-3:20049"), "node-3"},
		{"IP address and port", written("192.0.2.1:20049"), "192.0.2.1"},
		{"IPv6 address and port", written("[2001:DB8:0::1]:20049"), "2001:db8::1"},
		{"IPv6 address alone", written("2001:DB8:0::1"), "2001:db8::1"},
		{"InfiniBand GID and queue pair", written("[fe80::2:c903:0:1]:42"), "fe80::2:c903:0:1"},
		{"no port", written("node-3"), "node-3"},
		{"nothing in it", written(""), ""},
		{"nil of a type", (*net.TCPAddr)(nil), ""},
		{"nil", nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Of(tt.addr).String(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func pipe(t *testing.T) net.Addr {
	a, b := net.Pipe()
	t.Cleanup(func() { a.Close(); b.Close() })
	return a.RemoteAddr()
}

// Addresses of the same host compare equal, whatever their form and port.
func TestSame(t *testing.T) {
	one := Of(&net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 7})
	for _, tt := range []struct {
		addr net.Addr
		same bool
	}{
		{&net.TCPAddr{IP: ip("::ffff:192.0.2.1"), Port: 8}, true},
		{&net.UDPAddr{IP: net.IPv4(192, 0, 2, 1).To4()}, true},
		{written("192.0.2.1:9"), true},
		{withHost("192.0.2.1"), true},
		{&net.TCPAddr{IP: net.IPv4(192, 0, 2, 2), Port: 7}, false},
		{written("192.0.2.1.example:7"), false},
		{nil, false},
	} {
		if got := Of(tt.addr) == one; got != tt.same {
			t.Errorf("%v is the same host: %t, want %t", tt.addr, got, tt.same)
		}
	}
}

func TestIn(t *testing.T) {
	networks := []netip.Prefix{prefix("192.0.2.0/24"), prefix("fe80::/10"), prefix("127.0.0.1/32")}
	for _, tt := range []struct {
		addr net.Addr
		want bool
	}{
		{&net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)}, true},
		{&net.TCPAddr{IP: ip("::ffff:192.0.2.1")}, true},
		{&net.TCPAddr{IP: ip("fe80::1"), Zone: "eth0"}, true},
		{written("192.0.2.1:7"), true},
		{&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, true},
		{&net.UDPAddr{IP: net.IPv4(127, 9, 8, 7)}, true}, // this host by another address
		{&net.TCPAddr{IP: ip("::1")}, false},
		{&net.TCPAddr{IP: net.IPv4(128, 0, 0, 1)}, false},
		{&net.TCPAddr{IP: net.IPv4(192, 0, 3, 1)}, false},
		{&net.TCPAddr{IP: ip("2001:db8::1")}, false},
		{loopback.Addr("192.0.2"), false},
		{&net.UnixAddr{Name: "192.0.2.1", Net: "unix"}, false},
		{nil, false},
	} {
		if got := Of(tt.addr).In(networks); got != tt.want {
			t.Errorf("%v is in %v: %t, want %t", tt.addr, networks, got, tt.want)
		}
	}
	for _, s := range []string{"192.0.2.0/24", "::/0"} {
		if Of(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}).In([]netip.Prefix{prefix(s)}) {
			t.Errorf("127.0.0.1 is in %s", s)
		}
	}
	if Of(&net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)}).In(nil) {
		t.Error("a host is in no networks")
	}
}

func TestWithoutZone(t *testing.T) {
	for _, tt := range []struct{ addr, want string }{
		{"[fe80::1%eth0]:7", "fe80::1"},
		{"192.0.2.1:7", "192.0.2.1"},
		{"node%3:7", "node%3"},
	} {
		if got := Of(written(tt.addr)).WithoutZone().String(); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.addr, got, tt.want)
		}
	}
}

// Of must not allocate, because the reply cache calls it for each call.
func TestOfAllocates(t *testing.T) {
	var a net.Addr = &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 7}
	networks := []netip.Prefix{prefix("198.51.100.0/24"), prefix("192.0.2.0/24")}
	if n := testing.AllocsPerRun(100, func() { Of(a).In(networks) }); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}
