package nfs3

import (
	"math"
	"testing"
	"time"
)

// TestTimeOf: times of NFS stay as they are, others become the nearest of these.
func TestTimeOf(t *testing.T) {
	const most = math.MaxUint32
	at := func(year int) time.Time { return time.Date(year, 1, 1, 0, 0, 0, 5, time.UTC) }
	for _, tt := range []struct {
		name   string
		t      time.Time
		want   Time
		within bool
	}{
		{"the first", time.Unix(0, 0), Time{0, 0}, true},
		{"the first but one", time.Unix(0, 1), Time{0, 1}, true},
		{"just before", time.Unix(0, -1), Time{0, 0}, false},
		{"1969", time.Unix(-1, 0), Time{0, 0}, false},
		{"1960", at(1960), Time{0, 0}, false},
		{"none", time.Time{}, Time{0, 0}, false},
		{"1600, beyond nanoseconds of 64 bits", at(1600), Time{0, 0}, false},
		{"today", time.Unix(1795870000, 123456789), Time{1795870000, 123456789}, true},
		{"in another zone", time.Unix(1e9, 2).In(time.FixedZone("", 3600)), Time{1e9, 2}, true},
		{"2038", time.Unix(1<<31, 0), Time{1 << 31, 0}, true},
		{"the last", time.Unix(most, 1e9-1), Time{most, 1e9 - 1}, true},
		{"just behind", time.Unix(most+1, 0), Time{most, 1e9 - 1}, false},
		{"2120", at(2120), Time{most, 1e9 - 1}, false},
		{"2300, beyond nanoseconds of 64 bits", at(2300), Time{most, 1e9 - 1}, false},
	} {
		got, within := TimeOf(tt.t)
		if got != tt.want || within != tt.within || Nearest(tt.t) != got {
			t.Errorf("%s: got %v and %v, want %v and %v", tt.name, got, within, tt.want, tt.within)
		}
		if within && (!got.Time().Equal(tt.t) || got.Nanos() != tt.t.UnixNano()) {
			t.Errorf("%s: got %v back", tt.name, got.Time())
		}
	}
}
