//go:build !race

package faultnet_test

// fewNetworks says that the suite runs over one network alone: the race detector is slow.
const fewNetworks = false
