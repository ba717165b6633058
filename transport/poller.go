package transport

// Poller is an Endpoint that can do its work on the goroutine of a caller that would only wait for
// it. That saves the switches to the provider's own goroutine and back.
type Poller interface {
	// PostPolled is Post for a caller that calls Poll next: it wakes no other goroutine.
	PostPolled(wrs ...*WorkRequest) error

	// Poll carries out what is queued at either end. It returns when nothing is left, when another
	// goroutine is doing the same, or after a bounded amount of work, which the provider's own
	// goroutine then continues. Unlike Post it calls Completers and MessageHandlers, so the caller
	// must hold no lock that they take.
	Poll()
}
