//go:build race

package iwarp_test

// The race detector is slow, and looks at how goroutines interact. Variations of bytes and numbers
// are left to the tests without it.
func init() {
	raceDetector = true
	replayShare = 16
	conformanceShare = raceShare
}
