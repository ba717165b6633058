package faultnet

import "sync/atomic"

// Config describes a network.
type Config struct {
	// Seed is the seed of all random numbers. The same seed and the same traffic give the same
	// faults. On real sockets the kernel decides how a stream is cut and in which order connections
	// come. So faults that depend on segments (Jitter) vary there; those that depend on bytes
	// (Flip, CutAt, FreezeAt) do not.
	Seed uint64

	// Up and Down describe the two directions at first.
	Up, Down Way

	// OnLink, if not nil, is called with each new connection of streams, before the first byte
	// passes. It must not block.
	OnLink func(*Link)

	// Counters, if not nil, counts the faults. Several networks may share it.
	Counters *Counters
}

// Counters count the faults that have happened.
type Counters struct {
	Flipped atomic.Int64 // bytes with a flipped bit
	Frozen  atomic.Int64 // times that a direction was frozen

	// Connections of streams.
	Cut      atomic.Int64 // ended by Cut or CutAt
	Vanished atomic.Int64 // left half open by Vanish
	Refused  atomic.Int64 // target not reached; for datagrams, as far as the kernel reports it

	// Packets.
	Lost       atomic.Int64
	Overflowed atomic.Int64 // lost because the Buffer was full
	Duplicated atomic.Int64
	Reordered  atomic.Int64 // overtaken by others

	// Provider.
	Delayed  atomic.Int64 // work requests delayed
	Held     atomic.Int64 // completions held back
	Flushed  atomic.Int64 // connections ended before a work request
	NoMemory atomic.Int64 // Alloc, Import or Expose refused
}

// ways checks and returns the two directions of c.
func (c *Config) ways(stream bool) [2]Way {
	c.Up.check(stream)
	c.Down.check(stream)
	return [2]Way{Up: c.Up, Down: c.Down}
}

// counters returns the Counters to use.
func (c *Config) counters() *Counters {
	if c.Counters != nil {
		return c.Counters
	}
	return new(Counters)
}
