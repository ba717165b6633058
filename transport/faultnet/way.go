package faultnet

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// Direction is one of the two directions of a network.
type Direction int

// The directions. Between two devices, which do not dial, Up is from the first to the second one.
const (
	Up   Direction = iota // from the dialing end to the listening end
	Down                  // back
)

// Way describes one direction of a network. The zero Way passes everything on at once. Functions
// panic if a number or duration is negative, or a probability is not from 0 to 1.
type Way struct {
	// Bandwidth is in bytes per second. 0 means no limit.
	Bandwidth int

	// Delay is how long each byte travels after it has left. Jitter is the largest random addition
	// to that for each segment or packet. Neither changes the order.
	Delay, Jitter time.Duration

	// Buffer is how many bytes may wait in the network, in addition to those that travel (Bandwidth
	// × (Delay + Jitter)). When it is full, the sender of a stream waits, and a packet is lost. 0
	// means DefaultBuffer. A small Buffer with a Bandwidth is like a slow reader.
	Buffer int

	// MaxSegment is the most bytes of a stream that arrive at a time, so that one Read gets no
	// more. 0 means no particular limit. With 1 and a low Bandwidth a stream trickles. It must be 0
	// for packets, which are not cut.
	MaxSegment int

	// Flip is the probability that a bit of a byte is flipped.
	Flip float64

	// Loss, Duplicate and Reorder are the probabilities that a packet is lost, arrives twice, or is
	// overtaken by the next packet, if that comes within 20 ms. They must be 0 for streams.
	Loss, Duplicate, Reorder float64
}

// DefaultBuffer is the default of Way.Buffer in bytes.
const DefaultBuffer = 64 << 10

// check panics if w is not valid for a stream, or for packets.
func (w *Way) check(stream bool) {
	for name, v := range map[string]float64{
		"Flip": w.Flip, "Loss": w.Loss, "Duplicate": w.Duplicate, "Reorder": w.Reorder,
	} {
		if !(v >= 0 && v <= 1) {
			panic(fmt.Sprintf("faultnet: Way.%s is %v, want 0 to 1", name, v))
		}
		if stream && v > 0 && name != "Flip" {
			panic(fmt.Sprintf("faultnet: Way.%s is set for a stream", name))
		}
	}
	if min(w.Bandwidth, w.Buffer, w.MaxSegment) < 0 || min(w.Delay, w.Jitter) < 0 {
		panic(fmt.Sprintf("faultnet: Way has a negative field: %+v", *w))
	}
	if !stream && w.MaxSegment > 0 {
		panic("faultnet: Way.MaxSegment is set for packets")
	}
}

// capacity returns how many bytes the network holds in this direction.
func (w *Way) capacity() int {
	buffer := w.Buffer
	if buffer == 0 {
		buffer = DefaultBuffer
	}
	return buffer + int(float64(w.Bandwidth)*(w.Delay+w.Jitter).Seconds())
}

// segment returns the most bytes of a stream that travel as one. Without MaxSegment that is what
// leaves in a millisecond, but at least a TCP segment on Ethernet and at most DefaultBuffer.
func (w *Way) segment() int {
	switch {
	case w.MaxSegment > 0:
		return w.MaxSegment
	case w.Bandwidth > 0:
		return min(max(w.Bandwidth/1000, 1448), DefaultBuffer)
	}
	return DefaultBuffer
}

// clock computes when bytes sent in one direction arrive.
type clock struct {
	jitter *rand.Rand
	left   time.Time // when the last byte left, or will leave
	last   time.Time // when the last byte arrives
}

// arrival returns when n bytes sent now will arrive.
func (c *clock) arrival(w *Way, now time.Time, n int) time.Time {
	if c.left.Before(now) {
		c.left = now
	}
	if w.Bandwidth > 0 {
		c.left = c.left.Add(time.Duration(n) * time.Second / time.Duration(w.Bandwidth))
	}
	at := c.left.Add(w.Delay)
	if w.Jitter > 0 {
		at = at.Add(time.Duration(c.jitter.Int64N(int64(w.Jitter) + 1)))
	}
	if c.last.Before(at) {
		c.last = at
	}
	return c.last
}

// flipper flips bits. Which ones depends only on the seed and on the number of the byte, and not on
// how the bytes are cut into pieces.
type flipper struct {
	rnd  *rand.Rand
	rate float64 // the rate for which next was computed
	next int     // bytes until the next flip
}

// flip flips bits of the next bytes, p, and returns how many.
func (f *flipper) flip(rate float64, p []byte) (flipped int) {
	if rate == 0 {
		return 0
	}
	if rate != f.rate {
		f.rate = rate
		f.draw()
	}
	for ; f.next < len(p); f.draw() {
		p[f.next] ^= 1 << f.rnd.IntN(8)
		p = p[f.next+1:]
		flipped++
	}
	f.next -= len(p)
	return flipped
}

// draw chooses at random how many bytes stay unchanged before the next flip.
func (f *flipper) draw() {
	f.next = 0
	if f.rate < 1 {
		skip := math.Log(1-f.rnd.Float64()) / math.Log1p(-f.rate)
		f.next = int(min(skip, math.MaxInt32))
	}
}

// Purposes of random numbers. Each has its own source, so that one setting does not change what
// another one does.
const (
	forJitter = iota
	forFlips
	forLoss
	forDuplicates
	forReordering
	forWork
	forMemory
)

// source returns the random numbers for one purpose, in one direction of one connection.
func source(seed uint64, number int, d Direction, purpose int) *rand.Rand {
	return rand.New(rand.NewPCG(seed, uint64(number)<<16|uint64(d)<<8|uint64(purpose)))
}
