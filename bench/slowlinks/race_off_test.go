//go:build !race

package slowlinks

const raceDetector = false
