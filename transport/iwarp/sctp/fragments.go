package sctp

import (
	"encoding/binary"
	"errors"
)

// fragments are the chunks of messages that are not whole. The fragments of a message have
// consecutive TSNs (RFC 9260 section 6.9), so those that have come are in runs. Each costs the
// same, whatever else is missing.
type fragments struct {
	firsts, lasts map[uint32]*run // by the TSN that a run begins, or ends, with
}

// run is a run of fragments. Between it and the next one a fragment is missing.
type run struct {
	first, last uint32
	begun       bool // the first has B
	ended       bool // the last has E
	stream      uint16
	unordered   bool
	ppid        uint32
	length      int // bytes
	head, tail  *piece
	memory      int // that it takes
	reserved    int // of that
}

// piece is a part of a message. A fragment that comes in order is appended to the piece in front.
type piece struct {
	data []byte
	next *piece
}

// runOverhead is what a run takes in addition to its bytes: itself, a piece, and its places in maps
// that are half empty.
const runOverhead = 320

// Reasons to end an association because of its fragments.
var (
	errFragments = errors.New("fragments that belong to no message")
	errTooLong   = errors.New("a message of more than 65536 bytes")
)

func newFragments() fragments {
	return fragments{make(map[uint32]*run), make(map[uint32]*run)}
}

// cost returns how much memory it takes to add a fragment.
func (f *fragments) cost(c chunk) int {
	n := len(c) - dataHeaderLen
	if r := f.before(c); r != nil {
		return grown(r.tail.data, n) - cap(r.tail.data)
	}
	return n + runOverhead
}

// before returns the run that a fragment continues, or nil.
func (f *fragments) before(c chunk) *run {
	if c.flags()&flagBegin != 0 {
		return nil
	}
	return f.lasts[tsnOf(c)-1]
}

// grown returns the capacity of a piece after n bytes are appended. It doubles up to the maximum.
func grown(p []byte, n int) int {
	if len(p)+n <= cap(p) {
		return cap(p)
	}
	return max(len(p)+n, min(2*cap(p), maxMessage))
}

// fits reports whether a fragment agrees with its neighbours that have come, of which received
// tells: the chunk behind an E, and no other, has B.
func (f *fragments) fits(c chunk, received *tsns) bool {
	tsn := tsnOf(c)
	before, behind := f.lasts[tsn-1], f.firsts[tsn+1]
	follows := before != nil && !before.ended
	precedes := behind != nil && !behind.begun
	return (!received.has(tsn-1) || follows == (c.flags()&flagBegin == 0)) &&
		(!received.has(tsn+1) || precedes == (c.flags()&flagEnd == 0))
}

// add adds a fragment that fits. It returns its run, whose memory has grown by what cost says.
func (f *fragments) add(c chunk) *run {
	tsn, data, cost := tsnOf(c), c[dataHeaderLen:], f.cost(c)
	r := f.before(c)
	if r != nil {
		delete(f.lasts, r.last)
		if to := r.tail; len(to.data)+len(data) > cap(to.data) {
			grown := make([]byte, len(to.data), grown(to.data, len(data)))
			copy(grown, to.data)
			to.data = grown
		}
		r.tail.data = append(r.tail.data, data...)
	} else {
		p := &piece{data: append(make([]byte, 0, len(data)), data...)}
		r = &run{first: tsn, head: p, tail: p}
		f.firsts[tsn] = r
	}
	r.last = tsn
	r.length += len(data)
	r.memory += cost
	if flags := c.flags(); flags&flagBegin != 0 {
		r.begun, r.unordered = true, flags&flagUnordered != 0
		r.stream, r.ppid = binary.BigEndian.Uint16(c[8:]), binary.BigEndian.Uint32(c[12:])
	}
	if r.ended = c.flags()&flagEnd != 0; !r.ended {
		f.join(r)
	}
	f.lasts[r.last] = r
	return r
}

// join appends to a run the one behind it, if nothing is missing between them.
func (f *fragments) join(r *run) {
	behind := f.firsts[r.last+1]
	if behind == nil {
		return
	}
	delete(f.firsts, behind.first)
	r.last, r.ended = behind.last, behind.ended
	r.length += behind.length
	r.memory += behind.memory
	r.reserved += behind.reserved
	r.tail.next, r.tail = behind.head, behind.tail
}

// remove removes a run.
func (f *fragments) remove(r *run) {
	delete(f.firsts, r.first)
	delete(f.lasts, r.last)
}

// message appends the bytes of a run to p.
func (r *run) message(p []byte) []byte {
	for at := r.head; at != nil; at = at.next {
		p = append(p, at.data...)
	}
	return p
}
