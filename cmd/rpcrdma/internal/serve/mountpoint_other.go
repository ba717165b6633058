//go:build !linux

package serve

// isMountPoint reports nothing: directories are served on Linux alone.
func isMountPoint(string) bool { return false }
