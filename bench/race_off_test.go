//go:build !race

package bench

// worlds is how many machines are made up of each kind.
const worlds = 200
