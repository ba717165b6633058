package iwarp

import (
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
)

// ShareRecv names where memory for promises comes from.
func (e *endpoint) ShareRecv(src transport.RecvSource) {
	e.source, e.resume = src, make(chan struct{}, 1)
}

// PromiseRecv queues promises.
func (e *endpoint) PromiseRecv(n int) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.closed != nil:
		return e.opError("post", e.closed)
	case !e.recvs.Room(n + e.promised):
		return e.full
	}
	e.promised += n
	return nil
}

// ResumeRecv has the message that waits for memory ask again.
func (e *endpoint) ResumeRecv() {
	select {
	case e.resume <- struct{}{}:
	default:
	}
}

// Ready reports whether there is memory for whatever message comes.
func (e *endpoint) Ready() bool { return e.source == nil || e.source.Ready() }

// hold takes back a promise that the source did not keep, and has the segment come again.
func (e *endpoint) hold() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.err == nil {
		e.promised++
	}
	return ddp.ErrHold
}

// awaitResume waits until the source may have memory, and reports whether the connection goes on. The peer is held up by the
// flow control of TCP meanwhile; what is posted leaves all the same.
func (e *endpoint) awaitResume() bool {
	select {
	case <-e.resume:
		return true
	case <-e.over:
		return false
	}
}
