package daemon

import (
	"math"
	"testing"
)

// TestRoom: with enough descriptors ports have the usual number of connections. With fewer they
// have half of the descriptors, all ports together, and those of a gateway seven eighths.
func TestRoom(t *testing.T) {
	for descriptors, want := range map[uint64]Room{
		math.MaxUint64: {1024, 64, 256, 32},
		4096:           {1024, 64, 256, 32},
		1024:           {256, 32, 64, 32},
		256:            {64, 8, 16, 8},
		20:             {16, 4, 4, 4},
	} {
		if got := roomOf(descriptors); got != want {
			t.Errorf("with %d descriptors %+v, want %+v", descriptors, got, want)
		}
	}
	for n := uint64(128); n < 1<<20; n += 7 {
		r := roomOf(n)
		startups := r.Startups + r.Startups/4 // a quarter is held up for a while
		ports := r.Conns + r.Lookups + 2*startups + 2*r.HTTP
		if gateway := 3*r.Conns + 2*r.HTTP; uint64(ports) > n/2 || uint64(gateway) > n-n/8 {
			t.Fatalf("of %d descriptors ports take %d, and a gateway %d: %+v", n, ports, gateway, r)
		}
	}
}
