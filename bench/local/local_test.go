package local

import (
	"bytes"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/rpcrdma/go-rpcrdma/bench/env"
	"github.com/rpcrdma/go-rpcrdma/bench/paired"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestComparisons runs each comparison briefly.
func TestComparisons(t *testing.T) {
	o := env.Options{Starts: 1, Rounds: 2, Time: time.Millisecond, Limit: time.Minute}
	for _, c := range comparisons {
		t.Run(c.Candidate, func(t *testing.T) {
			procs := runtime.GOMAXPROCS(0)
			r, err := paired.Compare(t.Context(), o, c.Yardstick, c.Candidate)
			if err != nil {
				t.Fatal(err)
			}
			if y, c := r.Sides(); r.Ratio().Median <= 0 || y.Value <= 0 || c.Value <= 0 || len(r.Rounds) != 2 {
				t.Errorf("got %+v and %+v in %d rounds, want figures of 2", y, c, len(r.Rounds))
			}
			if got := runtime.GOMAXPROCS(0); got != procs {
				t.Errorf("GOMAXPROCS is %d afterwards, want %d", got, procs)
			}
		})
	}
}

// TestShared: both scenarios of a pair share one rig, and each start has its own.
func TestShared(t *testing.T) {
	var rigs []*Rig
	p := Null()
	p.Name = "shared"
	for _, of := range []*func(*Rig) operation{&p.yardstick, &p.candidate} {
		real := *of
		*of = func(r *Rig) operation {
			rigs = append(rigs, r)
			return real(r)
		}
	}
	c := p.Register()
	o := env.Options{Starts: 2, Rounds: 1, Time: time.Millisecond, Limit: time.Minute}
	if _, err := paired.Compare(t.Context(), o, c.Yardstick, c.Candidate); err != nil {
		t.Fatal(err)
	}
	if len(rigs) != 4 || rigs[0] != rigs[1] || rigs[1] == rigs[2] || rigs[2] != rigs[3] {
		t.Errorf("got rigs %p, want two of each of two", rigs)
	}
}

// TestBytes: a READ returns the bytes that the copy beside it copies, at each place in the file.
func TestBytes(t *testing.T) {
	r, err := NewRig(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, size := range []int{4 * kib, 64 * kib, mib} {
		p := Read(size, 3*size)
		yardstick, candidate := p.yardstick(r), p.candidate(r)
		for i := range 7 {
			if err := yardstick(1); err != nil {
				t.Fatal(err)
			}
			want := bytes.Clone(r.buf[:size])
			clear(r.buf)
			if err := candidate(1); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(r.buf[:size], want) {
				t.Fatalf("READ %d of %d bytes brought other bytes than the copy", i, size)
			}
		}
	}
}

func TestWalk(t *testing.T) {
	w := walk{size: 4, span: 12}
	var got []int
	for range 7 {
		got = append(got, w.next())
	}
	if diff := cmp.Diff([]int{0, 4, 8, 0, 4, 8, 0}, got); diff != "" {
		t.Error(diff)
	}
}
