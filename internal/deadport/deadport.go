// Package deadport has, for tests, TCP ports at which nobody listens, and nobody can until the test
// is over. The port of a listener that was closed may be another one's soon.
package deadport

import (
	"net"
	"net/netip"
	"testing"
)

// New returns a port of host, an IP address, that refuses connections. A connection of this process
// occupies it.
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
