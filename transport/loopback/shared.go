package loopback

import "github.com/rpcrdma/go-rpcrdma/transport"

// ShareRecv names where memory for promises comes from.
func (e *endpoint) ShareRecv(src transport.RecvSource) { e.source = src }

// PromiseRecv queues promises.
func (e *endpoint) PromiseRecv(n int) error {
	e.link.mu.Lock()
	defer e.link.mu.Unlock()
	switch {
	case e.closed != nil:
		return e.opError("post", e.closed)
	case !e.recvs.Room(n + e.promised):
		return e.full
	}
	e.promised += n
	return nil
}

// ResumeRecv has what the peer has sent delivered, if that waits for memory.
func (e *endpoint) ResumeRecv() {
	e.link.mu.Lock()
	defer e.link.mu.Unlock()
	if !e.held {
		e.resumed = true // for a refusal that is on its way
		return
	}
	e.held = false
	e.link.work.Signal()
}
