//go:build !race

package krb5_test

const raceEnabled = false
