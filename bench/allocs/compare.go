package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// report is the result of a comparison.
type report struct {
	text string // a line for each difference
	bad  int    // how many of them are failures
}

// compare compares the benchmarks' allocations with the allowed ones.
func compare(allowed, got allocations) (r report) {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(got)) {
		want, ok := allowed[name]
		n := got[name]
		switch {
		case !ok:
			fmt.Fprintf(&b, "%s: not in the table; it makes %d allocations\n", name, n)
			r.bad++
		case n > want:
			fmt.Fprintf(&b, "%s: %d allocations, may make %d\n", name, n, want)
			r.bad++
		case n < want:
			fmt.Fprintf(&b, "%s: %d allocations, fewer than the %d in the table: -update keeps it so\n", name, n, want)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(allowed)) {
		if _, ok := got[name]; !ok {
			fmt.Fprintf(&b, "%s: in the table, but there is no such benchmark\n", name)
			r.bad++
		}
	}
	r.text = b.String()
	return r
}
