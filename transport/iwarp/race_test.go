//go:build race

package iwarp_test

func init() {
	replayShare = 4
	conformanceShare = 5 // every model, every combination of markers and CRC, and version 0 are among them
}
