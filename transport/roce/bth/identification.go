package bth

import (
	"hash/crc32"
	"math/bits"
	"sync/atomic"
)

// A CRC is linear. So each bit of an IPv4 header's identification changes the ICRC by a word that
// depends only on the number of bytes behind it. These sixteen words are linearly independent, so
// the total change tells the identification, or that there is none.

// maxCovered is the maximum length of a packet whose ICRC is checked, in bytes.
const maxCovered = Len + MaxExtra + 4096

// solver holds the sixteen words for one length, in reduced echelon form.
type solver [16]struct {
	pivot uint8  // the bit of word that no other word has
	id    uint16 // the identification bits that produce word
	word  uint32
}

// solvers are made when needed. The index is the length of the packet in words of four bytes.
var solvers [maxCovered/4 + 1]atomic.Pointer[solver]

var zeros [maxCovered + ipv4Len + udpLen]byte

func solverOf(n int) *solver {
	at := &solvers[n/4]
	s := at.Load()
	if s == nil {
		s = newSolver(n + ipv4Len - 6 + udpLen) // the bytes behind the identification
		at.Store(s)
	}
	return s
}

func newSolver(behind int) *solver {
	s := new(solver)
	for i := range s {
		id := uint16(1) << i
		// The CRC of two bytes and what follows, without its inversions.
		word := ^crc32.Update(^uint32(0), crc32.IEEETable, []byte{byte(id >> 8), byte(id)})
		word = ^crc32.Update(^word, crc32.IEEETable, zeros[:behind])
		for _, row := range s[:i] {
			if word>>row.pivot&1 != 0 {
				word, id = word^row.word, id^row.id
			}
		}
		pivot := uint8(bits.TrailingZeros32(word))
		for j := range s[:i] {
			if row := &s[j]; row.word>>pivot&1 != 0 {
				row.word, row.id = row.word^word, row.id^id
			}
		}
		s[i].pivot, s[i].id, s[i].word = pivot, id, word
	}
	return s
}

func (s *solver) solve(wrong uint32) (id uint16, ok bool) {
	for i := range s {
		if row := &s[i]; wrong>>row.pivot&1 != 0 {
			wrong, id = wrong^row.word, id^row.id
		}
	}
	return id, wrong == 0
}
