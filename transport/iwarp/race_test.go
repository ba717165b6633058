//go:build race

package iwarp_test

// The race detector is slow, and looks at how goroutines interact. Variations of bytes and numbers
// are left to the tests without it.
func init() {
	raceDetector = true
	replayShare = 16
	// Four setups: of revision 1 and 2, in both models, without markers, with markers to either side
	// or both, with CRC and without, with small segments.
	conformanceShare = 17
}
