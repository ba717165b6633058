package rpcrdma

import (
	"maps"
	"math/rand/v2"
	"testing"
)

// TestCallTable compares a table of calls with a map.
func TestCallTable(t *testing.T) {
	var table callTable
	want := make(map[uint32]*call)
	for step := range 10_000 {
		xid := rand.Uint32N(5)
		switch k := want[xid]; {
		case k != nil:
			table.remove(k)
			delete(want, xid)
		case step%100 < 50 || len(want) == 0: // else it is left with few
			k = &call{xid: xid}
			table.add(k)
			want[xid] = k
		}
		got := make(map[uint32]*call)
		for k := range table.all {
			got[k.xid] = k
		}
		if !maps.Equal(got, want) || table.n != len(want) {
			t.Fatalf("step %d: got %v, n is %d, want %v", step, got, table.n, want)
		}
		for xid := range uint32(5) {
			if got := table.get(xid); got != want[xid] {
				t.Fatalf("step %d: call %d is %p, want %p", step, xid, got, want[xid])
			}
		}
	}
}

// TestCallTableStop ends an iteration over a table early.
func TestCallTableStop(t *testing.T) {
	var table callTable
	for xid := range uint32(3) {
		table.add(&call{xid: xid})
	}
	n := 0
	for range table.all {
		if n++; n == 2 {
			break
		}
	}
	if n != 2 {
		t.Errorf("got %d calls, want 2", n)
	}
}
