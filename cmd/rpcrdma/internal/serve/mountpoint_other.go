//go:build !linux

package serve

// isMountPoint is false: directories are served only on Linux.
func isMountPoint(string) bool { return false }
