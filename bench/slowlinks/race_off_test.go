//go:build !race && soak

package slowlinks

const raceDetector = false
