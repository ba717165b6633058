package stag

import "testing"

// TestTagsAreSparse checks the tags of two tables: they are spread over the whole range, and those
// of one table say nothing about those of the other (rfc5040-8.1.1-8, RFC 5042 section 6.1.1).
func TestTagsAreSparse(t *testing.T) {
	const n = 4096
	var index [2]map[uint32]bool
	for i := range index {
		tab := New(n, nil)
		index[i] = make(map[uint32]bool)
		var sixteenths [16]int
		neighbours, last := 0, uint32(0)
		for range n {
			at := uint32(expose(t, tab, write, make([]byte, 1)).STag) >> keyBits
			sixteenths[at>>(indexBits-4)]++
			if at-last+8 <= 16 {
				neighbours++
			}
			index[i][at], last = true, at
		}
		for j, got := range sixteenths {
			if got < n/16/2 || got > n/16*2 { // 256, give or take 16
				t.Errorf("%d of %d tags are in sixteenth %d of the range", got, n, j)
			}
		}
		if neighbours > n/100 {
			t.Errorf("%d of %d tags are next to the one before", neighbours, n)
		}
	}
	same := 0
	for at := range index[0] {
		if index[1][at] {
			same++
		}
	}
	if same > n/100 { // 1 is expected
		t.Errorf("%d of %d tags are in the other table, too", same, n)
	}
}
