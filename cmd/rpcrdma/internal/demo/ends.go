package demo

import (
	"sync"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// ends are the server's connections.
type ends struct {
	mu  sync.Mutex // guards all
	all map[*rpcrdma.Conn]struct{}
}

// note adds a connection.
func (e *ends) note(t oncrpc.Transport) {
	conn, ok := t.(*rpcrdma.Conn)
	if !ok {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.all == nil {
		e.all = make(map[*rpcrdma.Conn]struct{})
	}
	e.all[conn] = struct{}{}
}

// stats is the sum of their counters.
func (e *ends) stats() (sum rpcrdma.Stats) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for conn := range e.all {
		s := conn.Stats()
		sum.Padded += s.Padded
		sum.DonesReceived += s.DonesReceived
		sum.Withheld += s.Withheld
	}
	return sum
}
