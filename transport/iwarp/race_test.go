//go:build race

package iwarp_test

// The race detector is slow, and looks for how goroutines meet: what only varies bytes and numbers
// is for the tests without it.
func init() {
	raceDetector = true
	replayShare = 16
	// Nine setups: every model, every combination of markers and CRC but both ways without CRC,
	// small segments, and version 0.
	conformanceShare = 7
}
