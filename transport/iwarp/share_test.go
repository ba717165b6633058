//go:build !soak

package iwarp_test

// raceShare is conformanceShare under the race detector: of all setups the first, which has nothing,
// and the one with small segments, markers both ways and CRC. With few, the suite also runs over
// fewer other connections there.
const (
	raceShare = 51
	few       = true
)
