//go:build !race && soak

package bench

// worlds is the number of simulated machines of each kind.
const worlds = 200
