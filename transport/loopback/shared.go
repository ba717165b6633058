package loopback

import "github.com/rpcrdma/go-rpcrdma/transport"

// ShareRecv sets the source of memory for promises.
func (e *endpoint) ShareRecv(src transport.RecvSource) { e.source = src }

// PromiseRecv queues promises.
func (e *endpoint) PromiseRecv(n int) error {
	e.link.mu.Lock()
	defer e.link.mu.Unlock()
	switch {
	case e.err != nil:
		return e.opError("post", transport.ClosedError(e.err))
	case !e.recvs.Room(n + e.promised):
		return e.full
	}
	e.promised += n
	return nil
}

// ResumeRecv delivers messages that wait for memory.
func (e *endpoint) ResumeRecv() {
	e.link.mu.Lock()
	defer e.link.mu.Unlock()
	if !e.held {
		e.resumed = true // Receive may just be returning nil
		return
	}
	e.held = false
	e.link.work.Signal()
}
