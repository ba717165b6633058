package gss

// Limits, for tests.
const (
	MaxHandshakes = maxHandshakes
	MaxHalfMade   = maxHalfMade
	MaxRounds     = maxRounds
	MaxReplaced   = maxReplaced
	WindowLen     = windowLen
)

// SetSeq has the context of f go on behind a sequence number.
func (f *ClientFlavor) SetSeq(n uint32) { f.current.Load().seq.Store(n) }

// Waiting returns the number of calls that wait for a place in the window.
func (f *ClientFlavor) Waiting() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for w := f.waiting.First(); w != nil; w = w.place.Next() {
		n++
	}
	return n
}
