//go:build race

package iwarp

func init() {
	replayShare = 4
	conformanceShare = 5 // every model, and every combination of markers and CRC, is among them
}
