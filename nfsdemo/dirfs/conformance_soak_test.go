//go:build linux && soak

package dirfs

import "testing"

// TestConformanceCrossed is TestConformance with the file systems of the host exchanged.
func TestConformanceCrossed(t *testing.T) {
	needRoot(t)
	bothWays(t, func(t *testing.T, byName bool) {
		conform(t, byName, !byName)
	})
}
