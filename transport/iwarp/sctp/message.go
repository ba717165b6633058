package sctp

import "sync"

// held is a message that waits for its consumer, in memory of about its size.
type held struct {
	control bool
	data    []byte // behind the DDP-SSN
	placed  bool   // its payload is where it belongs

	small *[256]byte // what data is in; nil: memory of its own
	large *[2048]byte
}

var (
	smalls = sync.Pool{New: func() any { return new([256]byte) }}
	larges = sync.Pool{New: func() any { return new([2048]byte) }}
)

// keep copies a message.
func keep(control bool, data []byte) *held {
	h := helds.Get().(*held)
	*h = held{control: control}
	switch n := len(data); {
	case n <= len(h.small):
		h.small = smalls.Get().(*[256]byte)
		h.data = h.small[:n]
	case n <= len(h.large):
		h.large = larges.Get().(*[2048]byte)
		h.data = h.large[:n]
	default:
		h.data = make([]byte, n)
	}
	copy(h.data, data)
	return h
}

var helds = sync.Pool{New: func() any { return new(held) }}

// size is what the message takes of Config.StreamMemory.
func (h *held) size() int { return cap(h.data) }

// release gives the memory back.
func (h *held) release() {
	switch {
	case h.small != nil:
		smalls.Put(h.small)
	case h.large != nil:
		larges.Put(h.large)
	}
	*h = held{}
	helds.Put(h)
}
