//go:build !unix

package daemon

import "math"

// FindRoom returns the Room of this process.
func FindRoom() Room { return roomOf(math.MaxUint64) }
