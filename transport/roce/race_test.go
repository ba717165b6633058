//go:build race

package roce_test

func init() {
	manyShare, raceDetector = 5, true
}
