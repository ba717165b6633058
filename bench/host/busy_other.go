//go:build !linux

package host

// BusyTime returns zero on this system.
func BusyTime(cpus ...int) Busy { return Busy{} }
