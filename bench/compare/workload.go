package main

import (
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/bench/paired"
)

// operation is what a workload repeats.
type operation string

const (
	opNull    operation = "null"
	opGetAttr operation = "getattr"
	opRead    operation = "read"   // in order
	opRandom  operation = "random" // READs at random offsets
	opWrite   operation = "write"  // in order
	opList    operation = "list"   // a whole directory by READDIRPLUS
)

// fileSize is the size in bytes of the file, larger than the CPUs' caches. Tests have a smaller
// one.
var fileSize int64 = 64 << 20

// The content of each export: the file, or the directory for opList.
const (
	fileName = "file"
	dirName  = "dir"
)

// workload repeats an operation.
type workload struct {
	op       operation
	size     int // bytes of a READ or WRITE, or entries of the directory
	inFlight int
}

func (w workload) String() string {
	switch w.op {
	case opRead, opRandom, opWrite:
		return fmt.Sprintf("%s-%dKiBx%d", w.op, w.size>>10, w.inFlight)
	case opList:
		return fmt.Sprintf("%s-%d", w.op, w.size)
	}
	return fmt.Sprintf("%s-x%d", w.op, w.inFlight)
}

// bulk reports whether payload counts rather than calls.
func (w workload) bulk() bool { return w.size >= 64<<10 && w.op != opList }

func (w workload) metric() paired.Metric {
	switch {
	case w.op == opList:
		return paired.Latency
	case w.bulk():
		return paired.Throughput
	}
	return paired.Rate
}

// The directories.
const (
	entries      = 10_000
	largeEntries = 100_000
)

// entryName returns the name of file i in the directory.
func entryName(i int) string { return fmt.Sprintf("file%06d", i) }

var (
	null      = workload{op: opNull, inFlight: 1}
	nulls     = workload{op: opNull, inFlight: 64}
	getAttr   = workload{op: opGetAttr, inFlight: 1}
	getAttrs  = workload{op: opGetAttr, inFlight: 64}
	random    = workload{op: opRandom, size: 4 << 10, inFlight: 1}
	randoms   = workload{op: opRandom, size: 4 << 10, inFlight: 64}
	read      = workload{op: opRead, size: 1 << 20, inFlight: 1}
	reads     = workload{op: opRead, size: 1 << 20, inFlight: 4}
	write     = workload{op: opWrite, size: 1 << 20, inFlight: 1}
	writes    = workload{op: opWrite, size: 1 << 20, inFlight: 4}
	list      = workload{op: opList, size: entries, inFlight: 1}
	listLarge = workload{op: opList, size: largeEntries, inFlight: 1}
)

var workloads = []workload{read, reads, write, writes, random, randoms, null, nulls, getAttr, getAttrs, list, listLarge}
