package users

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
)

// host is an address with a host.
type host string

func (h host) Host() string    { return string(h) }
func (h host) Network() string { return "" }
func (h host) String() string  { return string(h) }

// TestUses: whatever hosts use, their uses are bounded, a host's latest use stays, and those leave
// that add says.
func TestUses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(1, 12).Draw(t, "most")
		u := newUses[int](int64(most))
		hosts := make(map[int]int) // of each key
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			h := peerhost.Of(host(rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "host")))
			k := rapid.IntRange(0, 9).Draw(t, "key")
			added, left, leaves := u.add(h, k)
			if added {
				hosts[k]++
			}
			if leaves {
				hosts[left]--
			}
			if of := u.hosts[h]; u.all[use[int]{h, k}] == nil || of == nil {
				t.Fatalf("%v does not use %d", h, k)
			}
			sum := 0
			for k, n := range hosts {
				got := 0
				for id := range u.all {
					if id.k == k {
						got++
					}
				}
				if got != n {
					t.Fatalf("%d hosts use %d, want %d", got, k, n)
				}
				sum += n
			}
			for _, of := range u.hosts {
				sum -= of.n
			}
			if sum != 0 || len(u.all) > most {
				t.Fatalf("%d uses of %d, and the hosts have %d fewer", len(u.all), most, sum)
			}
		}
	})
}
