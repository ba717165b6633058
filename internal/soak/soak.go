// Package soak sets how much tests do. The gate has time for some of it, and soak runs, with the
// build tag soak, for all.
package soak

// Amount returns the amount for the gate, or that for soak runs.
func Amount[T any](gate, full T) T {
	if On {
		return full
	}
	return gate
}
