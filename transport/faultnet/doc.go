// Package faultnet is a network with faults, for tests.
package faultnet
