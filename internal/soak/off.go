//go:build !soak

package soak

// On reports whether this is a soak run.
const On = false
