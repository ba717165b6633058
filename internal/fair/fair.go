// Package fair shares limited resources among hosts: connections, memory and processors. It needs
// no configuration: neither the hosts nor their number are known beforehand.
//
// [Shares] has one rule. A host that has some gets more only if it then has no more than what is
// left free. So a single host can take half. When n hosts take all they can, each has 1/(n+1) of
// the total, and as much is left for the next host.
//
// [Processors] shares processor time by another rule.
package fair

import (
	"sync"

	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
)

// Fits reports whether a host that has some already gets n more while free is left. A host that has
// nothing may take all that is free.
func Fits(free, has, n int64) bool { return n <= free && (has == 0 || has+n <= free-n) }

// Shares counts what each host has of a limited resource. It is safe for concurrent use. Hosts that
// have nothing take no memory.
type Shares struct {
	mu   sync.Mutex // guards the fields below
	free int64
	has  map[peerhost.Host]int64
}

// New returns Shares of n in total.
func New(n int64) *Shares { return &Shares{free: n, has: make(map[peerhost.Host]int64)} }

// Fits reports whether Take would succeed.
func (s *Shares) Fits(h peerhost.Host, n int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Fits(s.free, s.has[h], n)
}

// Room returns the most that Take would give a host.
func (s *Shares) Room(h peerhost.Host) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.has[h] == 0 {
		return s.free
	}
	return max((s.free-s.has[h])/2, 0)
}

// Take gives n to a host and reports whether it did.
func (s *Shares) Take(h peerhost.Host, n int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !Fits(s.free, s.has[h], n) {
		return false
	}
	s.free -= n
	s.has[h] += n
	return true
}

// Give takes n back from a host.
func (s *Shares) Give(h peerhost.Host, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free += n
	if s.has[h] -= n; s.has[h] == 0 {
		delete(s.has, h)
	}
}
