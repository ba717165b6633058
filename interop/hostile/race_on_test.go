//go:build race

package hostile_test

// raced: with the race detector each attack takes ten times as long, so that only every third is
// gone through, and from one host alone.
const raced = true
