//go:build !linux

package host

// BusyTime returns nothing: this system does not tell.
func BusyTime(cpus ...int) Busy { return Busy{} }
