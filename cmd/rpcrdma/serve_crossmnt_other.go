//go:build !linux

package main

// mountsBelow returns nothing: directories are served on Linux alone.
func mountsBelow(string) ([]string, error) { return nil, nil }
