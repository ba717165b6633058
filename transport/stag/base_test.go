package stag

import "testing"

// TestBasesAreSparse checks the offsets at which windows begin: each bit above the page offset is
// as likely to be set as not (RFC 5042 section 5.1.1, RFC 8166 section 8.1.2).
func TestBasesAreSparse(t *testing.T) {
	const (
		n    = 4096
		page = 12 // bits of an offset within a page
		bits = 63 // of an offset
	)
	tab := New(n, nil)
	var set [64]int
	for range n {
		base := expose(t, tab, write, make([]byte, 1)).Base
		for i := range set {
			set[i] += int(base >> i & 1)
		}
	}
	for i, got := range set {
		random := i >= page && i < bits
		if random && (got < n*3/8 || got > n*5/8) { // 2048, give or take 32
			t.Errorf("bit %d is set in %d of %d offsets", i, got, n)
		}
		if !random && got != 0 {
			t.Errorf("bit %d is set", i)
		}
	}
}
