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

// comparisons are all comparisons with their bounds. The goals beyond the bounds: NULL 4, READ of
// 64 KiB 0.40, READ of 1 MiB 0.92.
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

// owed registers p with its bounds.
//
// Tests of package nfsdemo show that the steady state does not allocate. But between rounds the
// goroutine may move to another processor, whose pools are empty, and a round of long operations
// has only few of them.
func owed(p Pair, bound float64) paired.Comparison {
	c := p.Register()
	c.Bound, c.MaxAllocs, c.Time = bound, 0.2, 20*time.Millisecond
	return c
}

// BenchmarkLocal measures all comparisons, see the package comment. One iteration is a whole
// comparison.
func BenchmarkLocal(b *testing.B) { paired.Bench(b, comparisons...) }

// TestLocal requires the bounds if BENCH_GATE is set.
func TestLocal(t *testing.T) { paired.Gate(t, comparisons...) }
