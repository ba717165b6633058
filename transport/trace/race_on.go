//go:build race

package trace

import "slices"

// snapshot appends p to b. It hides that from the race detector: memory that is being sent may
// change at the same time, because the peer may write to it.
//
//go:norace
func snapshot(b, p []byte) []byte {
	b = slices.Grow(b, len(p))
	for i := range p {
		b = append(b, p[i])
	}
	return b
}
