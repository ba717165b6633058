//go:build race

package trace_test

const belowTried = 1
