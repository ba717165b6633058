package rc

import "time"

// Window sizes, in packets.
const (
	firstWindow = 64
	leastWindow = 4
)

// window bounds the packets in flight.
type window struct {
	size, most float64
	slowFrom   float64 // from this size on, it grows slowly
	until      uint64  // not halved again before this packet is acknowledged
}

func newWindow(most int) window {
	w := window{size: min(firstWindow, float64(most)), most: float64(most)}
	w.slowFrom = w.most
	return w
}

// room returns how many more packets may be in flight.
func (w *window) room(inFlight uint64) uint64 {
	if n := uint64(w.size); n > inFlight {
		return n - inFlight
	}
	return 0
}

// grow notes that n packets were acknowledged.
func (w *window) grow(n uint64) {
	if w.size < w.slowFrom {
		w.size += float64(n)
	} else {
		w.size += float64(n) / w.size
	}
	w.size = min(w.size, w.most)
}

// halve is called after a loss or a congestion notification. Packets from oldest to newest are in
// flight.
func (w *window) halve(oldest, newest uint64) {
	if oldest < w.until {
		return
	}
	w.until = newest
	w.size = max(w.size/2, leastWindow)
	w.slowFrom = w.size
}

// collapse is called after a timeout.
func (w *window) collapse(oldest, newest uint64) {
	w.halve(oldest, newest)
	w.size = leastWindow
}

// Retransmission timeouts.
const (
	firstTimeout = 100 * time.Millisecond
	leastTimeout = 25 * time.Millisecond
	mostTimeout  = 2 * time.Second
)

// timeout computes the retransmission timeout from the round-trip time (RFC 6298).
type timeout struct {
	smooth, variance time.Duration // smooth is 0 before the first sample
	doubled          uint          // timeouts in a row

	// The current sample: when packet number of-1 was first sent.
	sampling bool
	of       uint64
	at       time.Time
}

// begin starts a sample with a packet that requests an acknowledgement.
func (t *timeout) begin(of uint64, now time.Time) {
	if !t.sampling {
		t.sampling, t.of, t.at = true, of, now
	}
}

// end notes an acknowledgement, which may complete the sample.
func (t *timeout) end(acknowledged uint64, now time.Time) {
	t.doubled = 0
	if !t.sampling || acknowledged < t.of {
		return
	}
	t.sampling = false
	rtt := now.Sub(t.at)
	if t.smooth == 0 {
		t.smooth, t.variance = rtt, rtt/2
		return
	}
	t.variance += ((rtt - t.smooth).Abs() - t.variance) / 4
	t.smooth += (rtt - t.smooth) / 8
}

// length returns the timeout.
func (t *timeout) length() time.Duration {
	d := firstTimeout
	if t.smooth > 0 {
		d = max(t.smooth+4*t.variance, leastTimeout)
	}
	return min(d<<min(t.doubled, 10), mostTimeout)
}
