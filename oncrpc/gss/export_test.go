package gss

// Limits, for tests.
const (
	MaxHandshakes = maxHandshakes
	MaxHalfMade   = maxHalfMade
	MaxRounds     = maxRounds
	MaxReplaced   = maxReplaced
	WindowLen     = windowLen
)

// SetSeq sets the last sequence number of f's context.
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
