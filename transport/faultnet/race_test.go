//go:build race

package faultnet_test

// fewNetworks makes the suite run over one network only, because the race detector is slow.
const fewNetworks = true
