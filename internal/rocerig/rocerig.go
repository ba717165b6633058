// Package rocerig has connections over RoCE for tests that run on every provider.
//
// An address of a host has one owner of RoCE's UDP port, and packages are tested in processes that
// run at a time: so each of them listens at addresses of its own.
package rocerig

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport/roce"
)

// tries is how many addresses are tried before there is taken to be none.
const tries = 64

// drawn is how many addresses this process has tried.
var drawn atomic.Uint32

// Addr returns an address of the loopback interface at which nobody has RoCE's UDP port, and which
// no other call in this process returns.
func Addr(tb testing.TB) netip.Addr {
	tb.Helper()
	var errs []error
	for range tries {
		ip := candidate(os.Getpid(), drawn.Add(1))
		c, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(ip, roce.UDPPort)))
		if err == nil {
			c.Close()
			return ip
		}
		errs = append(errs, err)
	}
	tb.Fatal(errors.Join(errs...))
	return netip.Addr{}
}

// candidate is the nth address of a process, within 127.0.0.0/8 and above 127.1.0.0. Processes with
// neighbouring numbers have none in common.
func candidate(pid int, n uint32) netip.Addr {
	const hosts = 251 << 16
	at := 1<<16 + (uint32(pid)*tries*tries+n)%hosts
	return netip.AddrFrom4([4]byte{127, byte(at >> 16), byte(at >> 8), byte(at)})
}

// Listen listens at such an address, at any port of a service, and returns who dials there. The
// caller closes the listener.
func Listen(tb testing.TB, cfg roce.Config) (*roce.Listener, roce.Dialer) {
	tb.Helper()
	at := netip.AddrPortFrom(Addr(tb), 0)
	l, err := roce.Listen(tb.Context(), at.String(), cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return l, roce.Dialer{Config: cfg}
}
