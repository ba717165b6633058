package rocerig

import (
	"net"
	"net/netip"
	"os"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport/roce"
)

// Addr returns loopback addresses, each only once, whose port is free.
func TestAddr(t *testing.T) {
	seen := make(map[netip.Addr]bool)
	for range 100 {
		ip := Addr(t)
		if !ip.IsLoopback() || seen[ip] {
			t.Fatalf("%v, after %d others", ip, len(seen))
		}
		seen[ip] = true
		at := netip.AddrPortFrom(ip, roce.UDPPort)
		c, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
}

// Addr skips an address whose port is taken.
func TestTaken(t *testing.T) {
	next := candidate(os.Getpid(), drawn.Load()+1)
	c, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(next, roce.UDPPort)))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got := Addr(t); got == next {
		t.Errorf("got %v, which is taken", got)
	}
}

// Processes have different candidates.
func TestCandidates(t *testing.T) {
	seen := make(map[netip.Addr]int)
	for pid := 70_000; pid < 70_016; pid++ {
		for n := range uint32(tries * tries) {
			ip := candidate(pid, n)
			if other, ok := seen[ip]; ok || !ip.IsLoopback() {
				t.Fatalf("%v is of processes %d and %d", ip, other, pid)
			}
			seen[ip] = pid
		}
	}
}
