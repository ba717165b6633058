package sctp

import "sync"

// held is a message that waits for its consumer, in memory of about its size.
type held struct {
	control bool
	placed  bool   // its payload is in place
	data    []byte // the message without its DDP-SSN
	memory  []byte // the memory that data is in
	pool    *sync.Pool
}

// helds are pools of held messages, with memory for a small message, for one that fills an Ethernet
// packet, and for one that fills the largest packet.
var helds = [...]struct {
	size int
	pool sync.Pool
}{{size: 256}, {size: 2048}, {size: 8192}}

// keep copies a message.
func keep(control bool, data []byte) *held {
	h := newHeld(len(data))
	h.control, h.placed = control, false
	h.data = append(h.memory[:0], data...)
	return h
}

// heldSize returns the size of a held message of n bytes.
func heldSize(n int) int {
	for i := range helds {
		if n <= helds[i].size {
			return helds[i].size
		}
	}
	return n
}

func newHeld(n int) *held {
	for i := range helds {
		size, pool := helds[i].size, &helds[i].pool
		if n > size {
			continue
		}
		if h, ok := pool.Get().(*held); ok {
			return h
		}
		return &held{memory: make([]byte, size), pool: pool}
	}
	return &held{memory: make([]byte, n)} // a peer fragments its messages
}

// size returns how much the message counts toward Config.StreamMemory.
func (h *held) size() int { return len(h.memory) }

// release returns the memory to its pool.
func (h *held) release() {
	if h.pool != nil {
		h.pool.Put(h)
	}
}
