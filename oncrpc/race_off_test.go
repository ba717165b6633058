//go:build !race

package oncrpc_test

const raceEnabled = false
