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
		{"", `unknown provider "": write iwarp, roce, sctp, or several of them, separated by commas`},
		{"roce,", `unknown provider "": write iwarp, roce, sctp, or several of them, separated by commas`},
		{"roce, iwarp", `unknown provider " iwarp": write iwarp, roce, sctp, or several of them, separated by commas`},
		{"roce,roce", "roce is given twice"},
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
