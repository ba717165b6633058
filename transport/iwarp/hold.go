package iwarp

import "time"

// holdTime is how long a peer is kept waiting that connects again and again without speaking MPA.
const holdTime = time.Second

// holder keeps peers waiting that would otherwise reconnect at once, for ever. An example is a
// Linux client that mounts over TCP at this port.
type holder struct {
	time time.Duration
	held chan struct{} // a token for each peer that is kept
}

// newHolder returns a holder of up to most peers. Further ones are not kept waiting.
func newHolder(d time.Duration, most int) *holder {
	return &holder{time: d, held: make(chan struct{}, most)}
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
