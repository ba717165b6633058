//go:build race

package iwarp_test

import "github.com/rpcrdma/go-rpcrdma/internal/soak"

// The race detector is slow, and looks at how goroutines interact. Variations of bytes and numbers
// are left to the tests without it.
//
// Of the setups of TestConformance two are left: the first, which has nothing, and the one with
// small segments, markers both ways and CRC. In a soak nine are: every model, every combination of
// markers and CRC except both ways without CRC, small segments, and version 0.
func init() {
	raceDetector = true
	replayShare = 16
	conformanceShare = soak.Amount(51, 7)
}
