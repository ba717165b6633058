package sctp

import "math/bits"

// tsns is the set of the peer's TSNs that have come: all up to the cumulative TSN, and some ahead
// of it.
type tsns struct {
	cum  uint32   // the cumulative TSN
	top  uint32   // the highest that has come
	bits []uint64 // those ahead, by the TSN modulo their number, which is a power of two
}

// Bounds of how far ahead of the cumulative TSN chunks are taken. A SACK tells at most 1<<16 - 1.
const (
	minAhead = 1 << 11
	maxAhead = 1 << 15
)

// newTSNs returns an empty set for a window in bytes: the peer may go ahead by chunks of 512 bytes
// that fill it four times, as lost ones are waited for while others are consumed.
func newTSNs(first uint32, window int) tsns {
	ahead := minAhead
	for ahead < maxAhead && ahead*512 < 4*window {
		ahead *= 2
	}
	return tsns{cum: first - 1, top: first - 1, bits: make([]uint64, ahead/64)}
}

// ahead returns how far a TSN is ahead of the cumulative one. It is not positive if the TSN has
// come.
func (s *tsns) ahead(tsn uint32) int { return int(int32(tsn - s.cum)) }

// far reports whether a TSN is too far ahead to be taken.
func (s *tsns) far(tsn uint32) bool { return s.ahead(tsn) > 64*len(s.bits) }

// has reports whether a TSN that is not too far ahead has come.
func (s *tsns) has(tsn uint32) bool {
	word, bit := s.at(tsn)
	return s.ahead(tsn) <= 0 || !s.far(tsn) && *word&bit != 0
}

func (s *tsns) at(tsn uint32) (word *uint64, bit uint64) {
	return &s.bits[int(tsn/64)&(len(s.bits)-1)], 1 << (tsn % 64)
}

// add adds a TSN that has not come before, and is not too far ahead.
func (s *tsns) add(tsn uint32) {
	word, bit := s.at(tsn)
	*word |= bit
	if s.ahead(tsn) > s.ahead(s.top) {
		s.top = tsn
	}
	for {
		word, bit := s.at(s.cum + 1)
		if *word&bit == 0 {
			return
		}
		*word &^= bit
		s.cum++
	}
}

// complete reports whether nothing is missing below the highest TSN.
func (s *tsns) complete() bool { return s.cum == s.top }

// gapBlock is a Gap Ack Block: offsets from the cumulative TSN (RFC 9260 section 3.3.4).
type gapBlock struct{ first, last uint16 }

// blocks appends the first blocks of what has come ahead of the cumulative TSN, at most n. It looks
// at 64 TSNs at a time: a peer decides how many blocks there are.
func (s *tsns) blocks(to []gapBlock, n int) []gapBlock {
	top, before := s.ahead(s.top), uint64(0)
	for base := (s.cum + 1) &^ 63; s.ahead(base) <= top; base += 64 {
		word, _ := s.at(base)
		w, first := *word, s.ahead(base)
		if first <= 0 { // the bits of others, far ahead
			w &= ^uint64(0) << (1 - first)
		}
		if rest := top - first; rest < 63 {
			w &= 1<<(rest+1) - 1
		}
		for edges := w ^ (w<<1 | before); edges != 0; edges &= edges - 1 {
			bit := bits.TrailingZeros64(edges)
			at := first + bit
			switch {
			case w>>bit&1 == 0:
				to[len(to)-1].last = uint16(at - 1)
			case n == 0:
				return to
			default:
				to = append(to, gapBlock{uint16(at), uint16(top)})
				n--
			}
		}
		before = w >> 63
	}
	return to
}
