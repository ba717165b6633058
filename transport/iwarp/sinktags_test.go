package iwarp

import "testing"

// White-box: the tags of RDMA Reads are random, and an unusable one comes up once in 16 million
// draws. TestSinkTags checks from outside that all tags used are valid.

// A drawn tag is refused if its index is 0, or that of the tag before.
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
