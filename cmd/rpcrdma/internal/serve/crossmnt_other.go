//go:build !linux

package serve

// mountsBelow returns nothing: directories are served on Linux alone.
func mountsBelow(string) ([]string, error) { return nil, nil }
