package iwarp

import "time"

const (
	// holdTime is how long a peer is kept that keeps coming without speaking MPA.
	holdTime = time.Second
	// maxHeld is how many such peers are kept at a time. Beyond it they are parted with at once.
	maxHeld = 64
)

// holder keeps peers waiting that would be back at once, for ever: a Linux client that mounts over
// TCP here, say.
type holder struct {
	time time.Duration
	held chan struct{} // a token for each peer that is kept
}

func newHolder(d time.Duration) *holder {
	return &holder{time: d, held: make(chan struct{}, maxHeld)}
}

// hold keeps a peer: what it has sent is not answered, and the connection stays. It returns early
// when over is closed, or where too many wait already.
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
