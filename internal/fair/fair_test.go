package fair

import (
	"net"
	"net/netip"
	"testing"

	"pgregory.net/rapid"

	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
)

func host(i int) peerhost.Host {
	return peerhost.Of(net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), 1)))
}

// Hosts that take all they can have equal shares, and the next host finds as much.
func TestGreedyHosts(t *testing.T) {
	for _, tt := range []struct{ hosts, each int64 }{{1, 512}, {2, 341}, {3, 256}, {15, 64}} {
		s := New(1024)
		for more := true; more; {
			more = false
			for i := range int(tt.hosts) {
				more = s.Take(host(i), 1) || more
			}
		}
		for i := range int(tt.hosts) {
			if n := s.has[host(i)]; n < tt.each-1 || n > tt.each {
				t.Errorf("of %d hosts one has %d, want %d", tt.hosts, n, tt.each)
			}
		}
		if !s.Take(host(100), s.free) {
			t.Errorf("beside %d hosts one that has nothing does not get the %d that are free", tt.hosts, s.free)
		}
	}
}

// Whatever is taken and given, the total is never exceeded, no host that has some gets more than it
// leaves free, and giving everything back leaves no trace.
func TestShares(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.Int64Range(1, 1000).Draw(t, "all")
		s := New(all)
		has := make(map[int][]int64)
		free := all
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			i := rapid.IntRange(0, 4).Draw(t, "host")
			if taken := has[i]; len(taken) > 0 && rapid.Bool().Draw(t, "give") {
				s.Give(host(i), taken[0])
				free += taken[0]
				has[i] = taken[1:]
				continue
			}
			n := rapid.Int64Range(1, all).Draw(t, "n")
			var sum int64
			for _, m := range has[i] {
				sum += m
			}
			want := n <= free && (sum == 0 || sum+n <= free-n)
			if fits := n <= s.Room(host(i)); fits != want {
				t.Fatalf("who has %d has room for %d more of %d that are free: %v", sum, n, free, fits)
			}
			if got := s.Take(host(i), n); got != want {
				t.Fatalf("who has %d gets %d more of %d that are free: %v", sum, n, free, got)
			}
			if want {
				free -= n
				has[i] = append(has[i], n)
			}
		}
		for i, taken := range has {
			for _, n := range taken {
				s.Give(host(i), n)
			}
		}
		if s.free != all || len(s.has) > 0 {
			t.Fatalf("%d are free of %d, and %d hosts are known, when all is given back", s.free, all, len(s.has))
		}
	})
}
