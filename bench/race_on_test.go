//go:build race

package bench

// worlds is the number of simulated machines of each kind. It is small because each takes ten times
// as long under the race detector.
const worlds = 20
