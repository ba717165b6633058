//go:build race

package slowlinks

const raceDetector = true
