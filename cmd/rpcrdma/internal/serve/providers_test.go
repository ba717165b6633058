package serve

import (
	"testing"
)

// TestProvidersFlag: what --provider of serve takes.
func TestProvidersFlag(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"iwarp", "iwarp"},
		{"iwarp,sctp", "iwarp,sctp"},
		{"roce,iwarp", "iwarp,roce"},
		{"sctp,roce,iwarp", "iwarp,roce,sctp"},
		{"sctp", "sctp"},
		{"", `unknown provider ""; there are iwarp, roce, sctp, and commas between several`},
		{"roce,", `unknown provider ""; there are iwarp, roce, sctp, and commas between several`},
		{"roce, iwarp", `unknown provider " iwarp"; there are iwarp, roce, sctp, and commas between several`},
		{"roce,roce", "roce is there twice"},
		{"iwarp,loopback", "loopback stays inside one process, where no client can reach it"},
	} {
		var f providersFlag
		err := f.Set(tt.in)
		got := f.String()
		if err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.in, got, tt.want)
		}
	}
}
