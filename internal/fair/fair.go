// Package fair shares something that there is so much of among hosts: connections, memory. What
// one host does leaves the others something, and nobody has to say who they are, or how many.
//
// There is one rule for that. A host that has some gets more only while it then has no more than is
// left free for others. So a host alone has up to a half, each of n greedy ones 1/(n+1) of all, and
// as much as that is left for the next one that comes.
//
// Processors are shared otherwise, in time.
package fair

import (
	"sync"

	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
)

// Fits reports whether who has so much gets n more while so much is free. Who has nothing gets what
// is free.
func Fits(free, has, n int64) bool { return n <= free && (has == 0 || has+n <= free-n) }

// Shares is what hosts have of something limited. It may be used by several goroutines at a time.
// Hosts that have nothing leave no trace.
type Shares struct {
	mu   sync.Mutex // guards what follows
	free int64
	has  map[peerhost.Host]int64
}

// New returns Shares of n in all.
func New(n int64) *Shares { return &Shares{free: n, has: make(map[peerhost.Host]int64)} }

// Fits reports whether Take would give a host n more.
func (s *Shares) Fits(h peerhost.Host, n int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Fits(s.free, s.has[h], n)
}

// Take gives a host n more, or reports false.
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

// Give takes back n of what a host has taken.
func (s *Shares) Give(h peerhost.Host, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free += n
	if s.has[h] -= n; s.has[h] == 0 {
		delete(s.has, h)
	}
}
