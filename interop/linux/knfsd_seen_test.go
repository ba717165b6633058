//go:build interop

package linux

import (
	"sync"

	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// seen is an observer that records the calls of a connection.
type seen struct {
	mu    sync.Mutex // guards calls
	calls []rpcrdma.CallInfo
}

// CallDone remembers a call.
func (s *seen) CallDone(i *rpcrdma.CallInfo) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, *i)
}

// last returns the call that ended last.
func (s *seen) last() rpcrdma.CallInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[len(s.calls)-1]
}

// credits returns the most credits that were in use.
func (s *seen) credits() (most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range s.calls {
		most = max(most, i.Credits)
	}
	return most
}
