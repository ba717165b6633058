//go:build soak

package simulation

// How many seeds run by default.
const (
	simulations  = 60
	slowNetworks = 2
)
