//go:build soak

package iwarp_test

// raceShare is conformanceShare under the race detector. It leaves nine setups: every model, every
// combination of markers and CRC except both ways without CRC, small segments, and version 0. With
// few, the suite also runs over fewer other connections there.
const (
	raceShare = 7
	few       = false
)
