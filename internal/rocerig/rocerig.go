// Package rocerig makes connections over RoCE, for tests that run on every provider.
//
// Only one process can own RoCE's UDP port at an address, and go test runs several packages at
// once. So each process listens at addresses of its own.
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

// tries is how many addresses Addr tries.
const tries = 64

// drawn is how many addresses this process has tried.
var drawn atomic.Uint32

// Addr returns a loopback address at which RoCE's UDP port is free. No other call in this process
// returns the same one. It is also for tests that listen at a known port of TCP, or again at the
// same one, because no other process has the address.
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

// candidate returns the nth address of a process, between 127.1.0.0 and 127.252.0.0. Processes with
// neighbouring ids have no address in common.
func candidate(pid int, n uint32) netip.Addr {
	const hosts = 251 << 16
	at := 1<<16 + (uint32(pid)*tries*tries+n)%hosts
	return netip.AddrFrom4([4]byte{127, byte(at >> 16), byte(at >> 8), byte(at)})
}

// Listen listens at an address from Addr, at any service port, and returns a dialer that reaches
// it. The caller closes the listener.
func Listen(tb testing.TB, cfg roce.Config) (*roce.Listener, roce.Dialer) {
	tb.Helper()
	at := netip.AddrPortFrom(Addr(tb), 0)
	l, err := roce.Listen(tb.Context(), at.String(), cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return l, roce.Dialer{Config: cfg}
}
