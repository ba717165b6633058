package mpa

import "sync"

// output is how a writer writes: a rawOutput, by system calls that do not block, or a plainOutput.
type output interface {
	// try writes what the network takes without waiting.
	try() error

	// wait waits until the network takes something, and writes. It holds l while it touches the
	// batch, but not while it waits.
	wait(l sync.Locker) error

	// unsent returns how many bytes the system holds that the peer has not acknowledged, or 0 if
	// unknown. With a slow peer it gets smaller long before the system takes more.
	unsent() int

	// mss returns the maximum segment size of TCP, or a guess at an equivalent.
	mss() int
}

// input is how a reader reads: a rawInput or a plainInput.
type input interface {
	// read waits for bytes and reads once. Reading 0 bytes without an error means the end.
	read() (int, error)

	// hold waits until the peer has gone, and returns how; or until the deadline passes.
	hold() error

	// wake ends hold, where the deadline does not.
	wake()

	// widen makes the system buffer as much as a bulk transfer needs.
	widen()
}
