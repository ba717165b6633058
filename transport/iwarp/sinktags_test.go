package iwarp

import "testing"

// White-box: the tags of RDMA Reads are drawn at random, so that the few that are not taken come up
// in one of 16 million draws. That all which leave are in order TestSinkTags sees outside.

// Of what is drawn an index of 0 is not taken, nor that of the tag before.
func TestSinkTagsTaken(t *testing.T) {
	var tags sinkTags
	for _, tt := range []struct {
		tag  uint32
		want bool
	}{
		{0, false},
		{0xff, false},
		{0x100, true},
		{0x100, false},
		{0x1ff, false},
		{0x200, true},
		{0x100, true},
		{0xff, false},
		{0xffffffff, true},
		{0xffffff00, false},
	} {
		if got := tags.take(tt.tag); got != tt.want {
			t.Errorf("tag %#x: taken is %t, want %t", tt.tag, got, tt.want)
		}
	}
}
