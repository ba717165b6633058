//go:build !race

package simulation

// fewSeeds says that loads run with one seed each: the race detector is slow.
const fewSeeds = false
