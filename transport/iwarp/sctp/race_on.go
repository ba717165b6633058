//go:build race

package sctp

import "sync/atomic"

// The race detector knows that what is read from a connection was written before, but not so of
// datagrams. Where both ends are in one process, it would take what has been placed before an
// answer was sent, and is looked at when that has come, for a race.

var datagrams atomic.Uint32

func noteSent()     { datagrams.Add(1) }
func noteReceived() { datagrams.Load() }
