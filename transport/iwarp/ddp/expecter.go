package ddp

// Expecter is a Sink that knows when the peer is about to send, so that an LLP can look again for a few microseconds before it sleeps:
// to sleep, and to be woken, may take longer than the peer does.
type Expecter interface {
	Sink
	// Expects reports whether the peer's next bytes are likely to come very soon. It is asked where there is nothing to read.
	Expects() bool
}
