package roce

import "time"

// identifications follows the identifications of a peer's packets, which are computed from the
// check of each (package bth): a packet that was damaged in a way that another one explains passes
// only if that is near the last ones. Senders count up, of Linux one for all connections between
// two hosts, or begin anew with each system call.
type identifications struct {
	last  uint16
	at    time.Time
	other uint16 // of the packet before, if that was not plausible
	doubt bool   // there was one
}

// nearby is how far apart two packets in a row may be, and so much more for each millisecond
// between them.
const nearby = 1024

// plausible reports whether a packet is to be believed. Of two in a row that are not, but would be
// each after the other, the second is: the sender has begun to count elsewhere.
func (s *identifications) plausible(id uint16, now time.Time) bool {
	near := nearby * (1 + int64(now.Sub(s.at)/time.Millisecond))
	if distance(id, s.last) <= near || id < nearby || s.doubt && distance(id, s.other) <= nearby {
		s.last, s.at, s.doubt = id, now, false
		return true
	}
	s.other, s.doubt = id, true
	return false
}

func distance(a, b uint16) int64 {
	d := int64(int16(a - b))
	if d < 0 {
		return -d
	}
	return d
}
