//go:build !race

package recordmark_test

const raceEnabled = false
