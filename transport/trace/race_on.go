//go:build race

package trace

import "slices"

// snapshot appends p to b. What is sent may change, as the peer may write to what it reads: the
// race detector is not to look.
//
//go:norace
func snapshot(b, p []byte) []byte {
	b = slices.Grow(b, len(p))
	for i := range p {
		b = append(b, p[i])
	}
	return b
}
