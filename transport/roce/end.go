package roce

import "github.com/rpcrdma/go-rpcrdma/transport"

// end ends the connection. It reports false if it had ended before; mu is held. The oldest request
// completes with refused, if that is not nil.
func (e *endpoint) end(err, refused error) bool {
	if e.err != nil {
		return false
	}
	e.err, e.refused = err, refused
	go e.finish()
	return true
}

// deserted ends the connection because the upper layer has ended the goroutine that called it; mu
// is held. That goroutine still runs its deferred calls.
func (e *endpoint) deserted() { e.end(e.opError("call", transport.ErrGoexit), nil) }

// finish takes the connection apart.
func (e *endpoint) finish() {
	e.taking.Lock()
	e.mu.Lock()
	e.timer.Stop()
	e.req.Flush(e.refused, e.opError("post", transport.ErrFlushed))
	refused := e.resp.Refused()
	e.mu.Unlock()
	e.Table.Close()
	e.leave(refused)
}

// leave is the rest of finish. If a Completer ends the goroutine, another one goes on.
func (e *endpoint) leave(refused bool) {
	delivered := false
	defer func() {
		if !delivered {
			go e.leave(refused)
		}
	}()
	e.deliver()
	delivered = true
	e.taking.Unlock()
	if e.conn.told.Load() {
		// the process may exit once done is closed, and the peer should know before
		e.conn.await(firstRetry / 2)
	}
	close(e.done)
	if refused {
		e.dev.schedule(e) // to tell the peer
		e.dev.flush()
	}
	e.conn.end(refused)
}

// closedByPeer ends the connection because the peer asked for it.
func (e *endpoint) closedByPeer() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.resp.LateRefusal(); err != nil {
		e.end(e.opError("read", err), nil)
		return
	}
	e.end(e.opError("receive", transport.ErrClosedByPeer), nil)
}

// abort ends a connection whose setup has failed.
func (e *endpoint) abort(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.end(err, nil)
}

// discard ends an endpoint that gets no connection. Its receives are dropped.
func (e *endpoint) discard(err error) {
	e.mu.Lock()
	e.err = err
	e.mu.Unlock()
	e.Table.Close()
	close(e.done)
}
