//go:build !soak

package simulation

// How many seeds run by default. With the tag soak there are more.
const (
	simulations  = 24
	slowNetworks = 1
)
