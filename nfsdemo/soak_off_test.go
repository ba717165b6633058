//go:build !soak

package nfsdemo

// soaking reports whether tests take long: all combinations, not each of their parts once.
const soaking = false
