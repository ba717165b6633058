package faultnet

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// Direction is one of the two ways through a network.
type Direction int

// The directions. Between two devices, which do not dial, Up is from the first to the second.
const (
	Up   Direction = iota // from the dialing end to the listening end
	Down                  // back
)

// Way is what a network does to what travels in one direction. The zero Way passes everything on at
// once. One with a negative number or duration, or a probability that is not from 0 to 1, makes the
// function that takes it panic.
type Way struct {
	// Bandwidth is in bytes a second. Zero means that there is no limit.
	Bandwidth int

	// Delay is how long each byte travels after it has left, and Jitter is the most by which it
	// travels longer. That is drawn anew for each segment or packet. Neither changes the order.
	Delay, Jitter time.Duration

	// Buffer is how many bytes may wait in the network, beside those that the Bandwidth has
	// travelling: Bandwidth × (Delay + Jitter). The sender of a stream waits when it is full, and
	// a packet that finds no room is lost. Zero means DefaultBuffer. Bandwidth with a small Buffer
	// is a slow reader.
	Buffer int

	// MaxSegment is the most bytes of a stream that arrive at a time: one Read gets no more. Zero
	// leaves that to the network. One of a byte, with a low Bandwidth, has a stream trickle.
	// Packets are not cut: it must be zero for them.
	MaxSegment int

	// Flip is the probability of each byte that one of its bits is flipped.
	Flip float64

	// Loss, Duplicate and Reorder are the probabilities of each packet that it is lost, arrives
	// twice, or is overtaken by the next packet (if one comes within 20 ms). Streams have none of
	// that: all must be zero for them.
	Loss, Duplicate, Reorder float64
}

// DefaultBuffer is the Buffer of a Way that names none, in bytes.
const DefaultBuffer = 64 << 10

// check panics if w makes no sense, as a Way of a stream or of packets.
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
		panic(fmt.Sprintf("faultnet: a Way has something below zero: %+v", *w))
	}
	if !stream && w.MaxSegment > 0 {
		panic("faultnet: Way.MaxSegment is set for packets")
	}
}

// capacity is how many bytes the network holds in this direction.
func (w *Way) capacity() int {
	buffer := w.Buffer
	if buffer == 0 {
		buffer = DefaultBuffer
	}
	return buffer + int(float64(w.Bandwidth)*(w.Delay+w.Jitter).Seconds())
}

// segment is the most bytes of a stream that travel as one. Where MaxSegment leaves that open, it
// is what leaves in a millisecond, from a TCP segment on Ethernet to DefaultBuffer.
func (w *Way) segment() int {
	switch {
	case w.MaxSegment > 0:
		return w.MaxSegment
	case w.Bandwidth > 0:
		return min(max(w.Bandwidth/1000, 1448), DefaultBuffer)
	}
	return DefaultBuffer
}

// clock says when what is sent in one direction arrives.
type clock struct {
	jitter *rand.Rand
	left   time.Time // when the last byte has left, or will
	last   time.Time // when it arrives
}

// arrival returns when n bytes arrive that are sent now.
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

// flipper flips bits. Which ones depends on its seed and on the number of the byte alone, and not
// on how the bytes are cut.
type flipper struct {
	rnd  *rand.Rand
	rate float64 // that next was drawn for
	next int     // bytes until the next flip
}

// flip flips bits of p, the bytes that come next, and returns how many.
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

// draw draws how many bytes stay as they are.
func (f *flipper) draw() {
	f.next = 0
	if f.rate < 1 {
		skip := math.Log(1-f.rnd.Float64()) / math.Log1p(-f.rate)
		f.next = int(min(skip, math.MaxInt32))
	}
}

// What random numbers are for. Each has a source of its own, so that no setting changes what
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

// source returns the random numbers of one purpose, for a connection and a direction of it.
func source(seed uint64, number int, d Direction, purpose int) *rand.Rand {
	return rand.New(rand.NewPCG(seed, uint64(number)<<16|uint64(d)<<8|uint64(purpose)))
}
