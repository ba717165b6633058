package rpcrdma

import "time"

// pace bounds the bytes of one kind of bulk transfer that are posted and not complete: what is
// posted later waits for at most so many. They are as many as keep the path full, and no fewer than
// paceLeast. So the path is measured: how fast bytes complete, and, of RDMA Reads, how soon. What
// uses it has a lock that guards it.
type pace struct {
	answers bool          // they complete when the peer has answered, and not when they have left
	under   int           // bytes that are posted and not complete
	done    uint64        // bytes that were, ever
	rate    float64       // bytes a second; 0: not known yet
	round   time.Duration // from post to completion where it is shortest, if answers

	// The request that is timed, if any: it completes when done is end.
	timing, alone bool
	end           uint64
	at            time.Time

	// What is measured of the rate, while anything is under way.
	since time.Time
	busy  time.Duration
	bytes int
}

const (
	// paceLeast is what may always be under way, in bytes.
	paceLeast = 1 << 20

	// paceAhead is for how long there is something under way where that is more than paceLeast.
	// Below 140 Mbit/s it is not. From 2.3 Gbit/s on it is more than 16 RDMA Reads of 1 MiB. It is
	// also the time within which a reply of that length has to complete, or it stays alone:
	// providers that wait for the peer's acknowledgment have a network that is near.
	paceAhead = 60 * time.Millisecond

	// paceMost is what the bound is never above, in bytes.
	paceMost = 1 << 30

	// paceSlice is how long bytes are counted for a rate. What a socket takes at once is no rate.
	paceSlice = 50 * time.Millisecond
)

// bound is how many bytes may be under way. Where the peer is to answer it is half as much again as
// the path was seen to hold, so that it grows until the path is full.
func (p *pace) bound() int {
	ahead := max(paceAhead, p.round*3/2)
	return int(min(max(paceLeast, p.rate*ahead.Seconds()), paceMost))
}

// room reports whether n bytes more may be posted. Where the peer is to answer, a bound above
// paceLeast may be exceeded by one request: it could not grow by less.
func (p *pace) room(n int) bool {
	bound := p.bound()
	return p.under == 0 || p.under+n <= bound ||
		p.answers && p.under < bound && bound > paceLeast
}

// posted notes that n bytes are posted.
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

// took notes how long a request was under way. One that was alone may say that the path has become
// longer.
func (p *pace) took(d time.Duration) {
	switch {
	case p.round == 0 || d < p.round:
		p.round = d
	case p.alone:
		p.round += (d - p.round) / 8
	}
}
