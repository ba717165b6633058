//go:build race

package bench

// worlds is how many machines are made up of each kind: fewer, as each takes ten times as long.
const worlds = 20
