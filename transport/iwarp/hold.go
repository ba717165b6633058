package iwarp

import "time"

const (
	// holdTime is how long a peer is kept waiting that connects again and again without speaking
	// MPA.
	holdTime = time.Second
	// maxHeld is how many such peers are kept waiting at a time. Beyond it, they are closed at
	// once.
	maxHeld = 64
)

// holder keeps peers waiting that would otherwise reconnect at once, for ever. An example is a
// Linux client that mounts over TCP at this port.
type holder struct {
	time time.Duration
	held chan struct{} // a token for each peer that is kept
}

func newHolder(d time.Duration) *holder {
	return &holder{time: d, held: make(chan struct{}, maxHeld)}
}

// hold keeps a connection open without an answer. It returns early if over is closed, or if too
// many wait already.
func (h *holder) hold(over <-chan struct{}) {
	select {
	case h.held <- struct{}{}:
	default:
		return
	}
	defer func() { <-h.held }()
	select {
	case <-over:
	case <-time.After(h.time):
	}
}
