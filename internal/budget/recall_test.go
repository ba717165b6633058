package budget

import (
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
)

// recallCase is what is recalled when a request waits: of connections that have been lent some
// memory piece by piece.
type recallCase struct {
	name     string
	hosts    []int     // of the connections
	lent     [][]int64 // to each of them, oldest first; the budget is 100
	has, n   int64     // of the last connection: what it has, and asks for
	recalled []int     // the connections that gave something back, in this order
	granted  bool
}

// TestRecall shows by examples what is recalled.
func TestRecall(t *testing.T) {
	for _, tt := range []recallCase{
		{"enough is free", []int{1, 2}, [][]int64{{50}, {}}, 0, 50, nil, true},
		{"the host with the most", []int{1, 2, 3}, [][]int64{{30}, {40}, {}}, 0, 50, []int{1}, true},
		{"of two connections", []int{1, 1, 2, 3}, [][]int64{{20}, {20}, {30}, {}}, 0, 50, []int{0},
			true},
		{"piece by piece", []int{1, 2, 3}, [][]int64{{30}, {20, 20, 20}, {}}, 0, 50,
			[]int{1, 1}, true},
		{"of hosts with as much, the one that has had it longest", []int{1, 2, 3},
			[][]int64{{50}, {50}, {}}, 0, 10, []int{0}, true},
		{"in turns", []int{1, 2, 3}, [][]int64{{10, 10, 10, 10}, {20, 15, 15}, {}}, 0, 55,
			[]int{1, 0, 0, 1}, true},
		{"all there is", []int{1, 2, 3}, [][]int64{{40}, {40}, {}}, 0, 100, []int{0, 1}, true},
		{"not from those that have less", []int{1, 2, 3}, [][]int64{{20}, {60}, {}}, 10, 15,
			[]int{1}, true},
		{"not from those that have no more than it would", []int{1, 2, 3},
			[][]int64{{30}, {40}, {}}, 20, 20, nil, false},
		{"not from its own host", []int{1, 1}, [][]int64{{90}, {}}, 5, 5, nil, false},
		{"not in vain", []int{1, 2}, [][]int64{{50}, {}}, 45, 10, nil, false},
	} {
		for _, later := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%v", tt.name, later), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { tt.run(t, later) })
			})
		}
	}
}

// run makes the request, before or after the memory is known to be lent.
func (tt *recallCase) run(t *testing.T, later bool) {
	r := newRig(100, unlimited, tt.hosts...)
	var recalled []int
	var granted []*call
	for i, s := range r.shares {
		lent := tt.lent[i]
		s.Recalls(func() {
			defer runtime.Goexit() // as a handler may that goes on here
			recalled = append(recalled, i)
			n := lent[0]
			lent = lent[1:]
			s.Lend(-1)
			granted = append(granted, s.Release(n, 0)...)
		})
		for _, n := range lent {
			s.Force(n)
		}
	}
	s, c := r.shares[len(r.shares)-1], new(call)
	s.Force(tt.has)
	lend := func() {
		for i, s := range r.shares {
			for range tt.lent[i] {
				s.Lend(1)
			}
		}
	}
	if !later {
		lend()
	}
	got := s.Reserve(&c.Request, c, tt.n)
	if later {
		lend()
	}
	synctest.Wait()
	got = got || len(granted) > 0
	if d := diff(tt.recalled, recalled); d != "" && !later { // what is lent first may do
		t.Errorf("recalled (-want +got):\n%s", d)
	}
	if later && len(tt.recalled) == 0 && len(recalled) > 0 {
		t.Errorf("recalled %v", recalled)
	}
	if got != tt.granted {
		t.Errorf("granted: %v, want %v", got, tt.granted)
	}
}
