package serve

import (
	"net/netip"
	"testing"
)

// TestExcludes: which listeners exclude which addresses.
func TestExcludes(t *testing.T) {
	for _, tt := range []struct {
		listener, other string
		want            bool
	}{
		{"127.0.0.1:1", "127.0.0.1:1", true},
		{"127.0.0.1:1", "127.0.0.1:2", false},
		{"127.0.0.1:1", "192.0.2.1:1", false},
		{"127.0.0.1:1", "0.0.0.0:1", true},
		{"127.0.0.1:1", "[::]:1", false},
		{"0.0.0.0:1", "192.0.2.1:1", true},
		{"0.0.0.0:1", "[::1]:1", false},
		{"[::]:1", "0.0.0.0:1", true},
		{"[::]:1", "192.0.2.1:1", true},
		{"[::]:1", "[::1]:1", true},
		{"[::]:1", "[::1]:2", false},
		{"[::1]:1", "[::]:1", true},
		{"[::1]:1", "0.0.0.0:1", false},
	} {
		if got := excludes(netip.MustParseAddrPort(tt.listener), netip.MustParseAddrPort(tt.other)); got != tt.want {
			t.Errorf("%s, %s: got %v, want %v", tt.listener, tt.other, got, tt.want)
		}
	}
}
