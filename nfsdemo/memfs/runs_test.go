package memfs

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestRuns compares random additions and removals with a slice.
func TestRuns(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	var r runs
	var want []uint64
	last := uint64(0)
	for _, phase := range []struct{ steps, adding int }{{3000, 90}, {6000, 30}, {2000, 50}, {4000, 10}, {500, 100}} {
		for range phase.steps {
			if rnd.IntN(100) < phase.adding {
				last += 1 + rnd.Uint64N(3)
				r.add(&dirent{cookie: last})
				want = append(want, last)
			} else if len(want) > 0 {
				i := rnd.IntN(len(want))
				r.remove(want[i])
				want = slices.Delete(want, i, i+1)
			}
			cookie := rnd.Uint64N(last + 3)
			i, _ := slices.BinarySearch(want, cookie+1)
			for e := range r.behind(cookie) {
				if i >= len(want) || e.cookie != want[i] {
					t.Fatalf("behind %d there is %d", cookie, e.cookie)
				}
				if i++; rnd.IntN(20) == 0 {
					i = len(want)
					break
				}
			}
			if i != len(want) {
				t.Fatalf("behind %d, %d entries are missing", cookie, len(want)-i)
			}
			checkRuns(t, &r)
		}
	}
}

// checkRuns checks the invariants of runs.
func checkRuns(t *testing.T, r *runs) {
	t.Helper()
	for i, run := range r.all {
		if len(run) == 0 || len(run) > runLen {
			t.Fatalf("run %d has %d entries", i, len(run))
		}
		if i > 0 && len(r.all[i-1])+len(run) <= runLen/2 {
			t.Fatalf("runs of %d and %d entries are neighbours", len(r.all[i-1]), len(run))
		}
		if !slices.IsSortedFunc(run, func(a, b *dirent) int { return cmp.Compare(a.cookie, b.cookie) }) {
			t.Fatalf("run %d is not sorted", i)
		}
	}
}

func TestCut(t *testing.T) {
	for n := 1; n < 6; n++ {
		for i := range n {
			s := make([]int, n)
			for j := range s {
				s[j] = j
			}
			want := slices.Delete(slices.Clone(s), i, i+1)
			var r runs
			if got := cut(&r, s, i); !slices.Equal(got, want) || r.moved != min(i, n-1-i) {
				t.Errorf("%d of %d: %v, want %v; %d moved", i, n, got, want, r.moved)
			}
		}
	}
}
