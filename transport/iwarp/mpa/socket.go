package mpa

import "sync"

// output is how a writer writes: a rawOutput, by system calls that do not block, or a plainOutput.
type output interface {
	// try writes what is taken without waiting.
	try() error

	// wait writes as soon as something is taken. It holds l while it touches the batch, but not
	// while it waits.
	wait(l sync.Locker) error

	// unsent is how many bytes the system holds and the peer has not acknowledged, 0 where that is
	// unknown. A slow peer makes it smaller long before the system takes more.
	unsent() int

	// mss is the maximum segment size of TCP, or a guess at what goes for one.
	mss() int
}

// input is how a reader reads: a rawInput or a plainInput.
type input interface {
	// read waits for bytes and reads once. No bytes are the end.
	read() (int, error)

	// hold waits until the peer has gone, and says how; or until the deadline passes.
	hold() error

	// wake ends hold, if the deadline does not.
	wake()

	// widen has the system take as much as comes where somebody transfers something.
	widen()
}
