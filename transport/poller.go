package transport

// Poller is the ability of an Endpoint to do its work on the goroutine of a caller who
// would otherwise only wait for it. That spares the switch to the provider's own goroutine
// and back.
type Poller interface {
	// PostPolled is Post for a caller who calls Poll next: nobody else is woken for
	// these requests.
	PostPolled(wrs ...*WorkRequest) error

	// Poll carries out what is queued at either end, and returns when nothing is left, when another
	// goroutine is at it already, or after a bounded amount of work, which the provider's own
	// goroutine then goes on with. Unlike Post it calls Completers and MessageHandlers, so the
	// caller must hold no lock that they take.
	Poll()
}
