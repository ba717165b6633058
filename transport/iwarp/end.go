package iwarp

import (
	"errors"
	"net"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// end ends the connection with the error cause, if it has not ended before. It sends t to the peer,
// if t is not nil and this side may send. It increments count, if not nil, and logs line, if not
// empty. endpoint.finish does the rest.
func (l *link) end(cause error, t *rdmap.Terminate, count *uint64, line string) {
	l.mu.Lock()
	if l.err != nil {
		l.mu.Unlock()
		return
	}
	l.err = cause
	if t != nil && l.heard {
		t.Draft05 = l.draft05
		l.lastWords = t.Append(nil)
	}
	l.mu.Unlock()
	if count != nil {
		atomic.AddUint64(count, 1)
	}
	if line != "" {
		l.cfg.fault(l.info.RemoteAddr, line, cause)
	}
	l.llp.Interrupt()
	close(l.over)
}

// Close ends the connection. It always succeeds; only the first call has an effect.
func (e *endpoint) Close() error {
	e.end(e.opError("close", net.ErrClosed), nil, nil, "")
	return nil
}

// discard ends an endpoint that gets no peer.
func (e *endpoint) discard(cause error) {
	e.end(cause, nil, nil, "")
	e.finish()
}

// unconnected is the LLP of an endpoint without a peer. Only these of its methods are called.
type unconnected struct{ ddp.LLP }

func (unconnected) Resume()                          {}
func (unconnected) Cut(bool)                         {}
func (unconnected) Interrupt()                       {}
func (unconnected) Close(bool)                       {}
func (unconnected) Traffic() (sent, received uint64) { return 0, 0 }

// deserted ends the connection because the upper layer has ended the goroutine that called it. That
// goroutine still runs its deferred calls.
func (l *link) deserted() { l.end(l.opError("call", transport.ErrGoexit), nil, nil, "") }

// finish takes an ended connection apart. It waits until nobody sends or completes any more, tells
// the peer why, and completes all that is left. Only then, when no memory is touched any more, it
// closes Done. Closing the TCP connection may take longer.
func (e *endpoint) finish() {
	words, cause := e.quiesce()
	e.sender.segmenter.cut(gone(cause), words)
	e.Table.Close()
	e.conclude(words != nil || !errors.Is(cause, ddp.ErrStalled), cause)
}

// conclude is the rest of finish. If a Completer ends the goroutine, another one goes on.
func (e *endpoint) conclude(orderly bool, cause error) {
	flushed := false
	defer func() {
		if !flushed {
			go e.conclude(orderly, cause)
		}
	}()
	e.completer.flush(cause)
	flushed = true
	e.receiver.release()
	close(e.done)
	e.llp.Close(orderly)
}

// quiesce waits until nobody sends or completes any more. It returns the last words for the peer,
// and why the connection has ended.
func (e *endpoint) quiesce() (words []byte, cause error) {
	<-e.over // closed after whoever ended it has logged that
	e.mu.Lock()
	defer e.mu.Unlock()
	for e.sender.busy() || e.completer.completing {
		e.awaitIdle()
	}
	e.sender.flusher.handed = false
	return e.lastWords, e.err
}

// gone reports whether the peer has ended the connection, so that it takes nothing any more.
func gone(cause error) bool {
	var t *rdmap.Error
	return errors.Is(cause, transport.ErrClosedByPeer) || errors.As(cause, &t) && t.Remote
}
