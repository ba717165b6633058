// Package deadport provides TCP ports that refuse connections, for tests. Nobody can listen at such
// a port until the test ends. By contrast, another process may soon take the port of a closed
// listener.
package deadport

import (
	"net"
	"net/netip"
	"testing"
)

// New returns a port of host, an IP address, that refuses connections. A connection of this process
// keeps the port occupied.
func New(tb testing.TB, host string) netip.AddrPort {
	tb.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		tb.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { c.Close() })
	peer, err := l.Accept()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { peer.Close() })
	return c.LocalAddr().(*net.TCPAddr).AddrPort()
}
