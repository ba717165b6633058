package faultnet

import "sync/atomic"

// Config is what a network is like.
type Config struct {
	// Seed is where all random numbers come from. The same seed and the same traffic give the same
	// faults. On real sockets the kernel decides how a stream is cut and in which order connections
	// come, so there the faults of a stream that go by segments (Jitter) are not the same. Those
	// that go by bytes (Flip, CutAt, FreezeAt) are.
	Seed uint64

	// Up and Down are what the two directions are like at first.
	Up, Down Way

	// OnLink, if not nil, is called with each connection of a network of streams, before the first
	// byte passes. It must not block.
	OnLink func(*Link)

	// Counters, if not nil, counts the faults. Several networks may share it.
	Counters *Counters
}

// Counters are numbers of faults that have happened.
type Counters struct {
	Flipped atomic.Int64 // bytes
	Frozen  atomic.Int64 // times that a direction was frozen

	// Connections of streams.
	Cut      atomic.Int64 // ended by Cut or CutAt
	Vanished atomic.Int64 // half-open by Vanish
	Refused  atomic.Int64 // whose target could not be reached; and datagrams, as far as is known

	// Packets.
	Lost       atomic.Int64
	Overflowed atomic.Int64 // lost as the Buffer was full
	Duplicated atomic.Int64
	Reordered  atomic.Int64 // overtaken

	// Of a provider (Work).
	Delayed  atomic.Int64 // work requests
	Held     atomic.Int64 // completions that were held back
	Flushed  atomic.Int64 // connections that were ended before a work request
	NoMemory atomic.Int64 // refused Alloc, Import or Expose
}

// ways returns the two directions of c.
func (c *Config) ways(stream bool) [2]Way {
	c.Up.check(stream)
	c.Down.check(stream)
	return [2]Way{Up: c.Up, Down: c.Down}
}

// counters are where faults are counted.
func (c *Config) counters() *Counters {
	if c.Counters != nil {
		return c.Counters
	}
	return new(Counters)
}
