// Package sizeclass keeps unused memory for reuse, sorted by size. Sizes are powers of two. A class
// is the binary logarithm of a size in bytes.
package sizeclass

import "math/bits"

const (
	smallestBuffer = 12 // 4 KiB

	// Largest is the largest class: 1 GiB.
	Largest = 30
)

// Of returns the class of the smallest size that holds n bytes, but not below the class least. It
// may be above Largest.
func Of(n, least int) int { return max(least, bits.Len(uint(max(n, 1)-1))) }
