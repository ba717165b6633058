package local

import (
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/paired"
)

const (
	kib = 1 << 10
	mib = 1 << 20
)

// comparisons are all of them, with what is owed. The goals beyond that: NULL 4, READ of 64 KiB
// 0.40, READ of 1 MiB 0.92.
var comparisons = []paired.Comparison{
	owed(Null(), 8),
	owed(NullMany(64), 0),
	owed(Read(4*kib, 4*kib), 0),
	owed(Write(4*kib, 4*kib), 0),
	owed(Read(64*kib, 64*kib), 0.25),
	owed(Read(64*kib, FileSize), 0.25),
	owed(Write(64*kib, 64*kib), 0),
	owed(Read(mib, mib), 0),
	owed(Read(mib, FileSize), 0.80),
	owed(Write(mib, mib), 0),
	owed(Write(mib, FileSize), 0),
}

// owed is the comparison of p, with what it owes.
//
// The steady state has no allocations, as tests of package nfsdemo show, but from one round to the
// next the goroutine may come to another processor, whose pools are empty; and a round has few
// operations if they are long.
func owed(p Pair, bound float64) paired.Comparison {
	c := p.Register()
	c.Bound, c.MaxAllocs, c.Time = bound, 0.2, 20*time.Millisecond
	return c
}

// BenchmarkLocal measures; see the comment of the package. One iteration is a whole comparison.
func BenchmarkLocal(b *testing.B) { paired.Bench(b, comparisons...) }

// TestLocal demands the bounds, if BENCH_GATE is set.
func TestLocal(t *testing.T) { paired.Gate(t, comparisons...) }
