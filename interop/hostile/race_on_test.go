//go:build race

package hostile_test

// raced reports that the race detector is on. Each attack takes ten times as long, so only every
// third is run, and from one host only.
const raced = true
