//go:build race

package iwarp

func init() { replayShare = 4 }
