package roce

import "time"

// identifications follows the identifications of a peer's packets, which are computed from the ICRC
// of each (package bth). Some damaged packets have an ICRC that fits another identification. They
// pass only if that is near the last one that is known to be the peer's. Senders count up: Linux
// with one counter for all connections between two hosts, or starting again with each system call.
type identifications struct {
	last  uint16
	at    time.Time
	other uint16 // of the last packet that was not near
	doubt bool   // other is set
}

// nearby is how far apart the identifications of two packets in a row may be, and by how much more
// for each millisecond between them.
const nearby = 1024

// plausible reports whether to accept a packet. Of two implausible packets in a row that are near
// each other, the second is accepted: the sender has begun to count elsewhere.
func (s *identifications) plausible(id uint16, now time.Time) bool {
	near := nearby * (1 + int64(now.Sub(s.at)/time.Millisecond))
	if distance(id, s.last) <= near || id < nearby {
		return true
	}
	again := s.doubt && distance(id, s.other) <= nearby
	s.other, s.doubt = id, true
	return again
}

// note notes the identification of a packet that is the peer's.
func (s *identifications) note(id uint16, now time.Time) { s.last, s.at, s.doubt = id, now, false }

func distance(a, b uint16) int64 {
	d := int64(int16(a - b))
	if d < 0 {
		return -d
	}
	return d
}
