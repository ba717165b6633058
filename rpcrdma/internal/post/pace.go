package post

import "time"

// pace limits the bytes of one kind of bulk transfer that are posted and not complete, so that
// later messages do not wait for long. The limit keeps the path full, and is at least paceLeast. To
// find it, pace measures how fast bytes complete, and for RDMA Reads also how soon. Its user guards
// it by a lock.
type pace struct {
	answers bool          // requests complete when the peer has answered, not when they have left
	under   int           // bytes posted and not complete
	done    uint64        // bytes completed so far
	rate    float64       // bytes per second; 0: not known yet
	round   time.Duration // shortest time from post to completion, if answers is set

	// The request being timed, if any. It is complete when done reaches end.
	timing, alone bool
	end           uint64
	at            time.Time

	// Measurement of the rate, while anything is under way.
	since time.Time
	busy  time.Duration
	bytes int
}

const (
	// paceLeast is how many bytes may always be under way.
	paceLeast = 1 << 20

	// paceAhead is how much transfer time may be under way. Below 140 Mbit/s that is less than
	// paceLeast; from 2.3 Gbit/s on it is more than 16 RDMA Reads of 1 MiB. A provider that
	// completes Sends only after the peer's acknowledgment needs a near network: a long reply that
	// takes longer than paceAhead to complete keeps others from being posted beside it.
	paceAhead = 60 * time.Millisecond

	// paceMost is the largest bound in bytes.
	paceMost = 1 << 30

	// paceSlice is how long bytes are counted to compute a rate. The time in which a socket takes
	// bytes at once would be too short.
	paceSlice = 50 * time.Millisecond
)

// bound returns how many bytes may be under way. That is not less than held.
func (p *pace) bound() int {
	return int(min(max(paceLeast, p.rate*paceAhead.Seconds(), p.held()), paceMost))
}

// held returns half as much again as the path was seen to hold, in bytes. If so many are under way,
// it grows until the path is full.
func (p *pace) held() float64 { return p.rate * p.round.Seconds() * 3 / 2 }

// room reports whether n bytes more may be posted. If the peer must answer, one request may exceed
// a bound above paceLeast; otherwise the bound might never grow.
func (p *pace) room(n int) bool {
	bound := p.bound()
	return p.under == 0 || p.under+n <= bound ||
		p.answers && p.under < bound && bound > paceLeast
}

// posted notes that n bytes were posted.
func (p *pace) posted(n int) {
	now := time.Now()
	alone := p.under == 0
	if alone {
		p.since = now
	}
	p.under += n
	if p.answers && !p.timing {
		p.timing, p.alone, p.at, p.end = true, alone, now, p.done+uint64(p.under)
	}
}

// completed notes that n bytes are complete.
func (p *pace) completed(n int) {
	now := time.Now()
	p.under -= n
	p.done += uint64(n)
	if p.timing && p.done >= p.end {
		p.timing = false
		p.took(now.Sub(p.at))
	}
	p.bytes += n
	p.busy += now.Sub(p.since)
	p.since = now
	if p.busy >= paceSlice {
		p.rate = max(float64(p.bytes)/p.busy.Seconds(), p.rate/2)
		p.bytes, p.busy = 0, 0
	}
}

// took notes how long a request was under way. Only one that was alone can show that the path has
// become longer.
func (p *pace) took(d time.Duration) {
	switch {
	case p.round == 0 || d < p.round:
		p.round = d
	case p.alone:
		p.round += (d - p.round) / 8
	}
}
