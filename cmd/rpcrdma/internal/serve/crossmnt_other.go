//go:build !linux

package serve

// mountsBelow returns nothing: directories are served only on Linux.
func mountsBelow(string) ([]string, error) { return nil, nil }
