package host

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMeter: a meter counts allocations, but not its own.
func TestMeter(t *testing.T) {
	var m Meter
	if n := testing.AllocsPerRun(10, func() { m.Used() }); n != 0 {
		t.Errorf("got %v allocations of a look, want none", n)
	}
	before := m.Used()
	for range 100 {
		kept = make([]byte, 1<<10)
	}
	if u := m.Used().Since(before); u.Allocs < 100 || u.Allocs > 150 || u.Bytes < 100<<10 || u.Heap == 0 {
		t.Errorf("got %+v, want 100 objects of 1 KiB", u)
	}
}

var kept []byte // forces a real allocation

// TestUsage: amounts used are added up, and current values are the last ones.
func TestUsage(t *testing.T) {
	a := Usage{CPU: 1, Allocs: 2, Bytes: 3, GCs: 4, Heap: 5, Stacks: 6, Conns: 7, Busy: 8}
	b := Usage{CPU: 10, Allocs: 20, Bytes: 30, GCs: 40, Heap: 50, Stacks: 60, Conns: 70, Busy: 80}
	want := Usage{CPU: 11, Allocs: 22, Bytes: 33, GCs: 44, Heap: 50, Stacks: 60, Conns: 70, Busy: 88}
	if diff := cmp.Diff(want, a.Plus(b)); diff != "" {
		t.Errorf("Plus (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(b, want.Since(a)); diff != "" {
		t.Errorf("Since (-want +got):\n%s", diff)
	}
}
