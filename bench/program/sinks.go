package program

import (
	"math/bits"
	"sync"
)

// sink is memory for one payload.
type sink struct {
	memory []byte
	list   [1][]byte // for functions that want a scatter list
}

// sinks keeps memory for later payloads of about the same size. It holds as many sinks as TAKE
// calls have run at a time, which the transports limit. It drops them when the size changes.
type sinks struct {
	mu   sync.Mutex // guards what follows
	size int        // a power of two
	free []*sink
}

// get returns a sink of at least n bytes.
func (s *sinks) get(n int) *sink {
	size := 1 << bits.Len(uint(max(n, Page)-1))
	s.mu.Lock()
	if s.size != size {
		s.size, s.free = size, nil
	}
	if last := len(s.free) - 1; last >= 0 {
		k := s.free[last]
		s.free = s.free[:last]
		s.mu.Unlock()
		return k
	}
	s.mu.Unlock()
	return &sink{memory: make([]byte, size)}
}

// put takes a sink back.
func (s *sinks) put(k *sink) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(k.memory) == s.size {
		s.free = append(s.free, k)
	}
}
