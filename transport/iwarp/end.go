package iwarp

import (
	"errors"
	"net"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// run receives until the connection ends, and then takes it apart.
func (e *endpoint) run() {
	select {
	case <-e.started:
		e.receiver.run()
	case <-e.over:
	}
	e.finish()
}

func (e *endpoint) uncork() {
	e.mu.Lock()
	e.corked = false
	e.mu.Unlock()
}

// Close ends the connection. Only the first call finds something to end; the others succeed too.
func (e *endpoint) Close() error {
	e.end(e.opError("close", net.ErrClosed), nil, nil, "")
	return nil
}

// finish takes an ended connection apart: nobody sends or completes any more, the peer is told why, and all that is left completes. Only
// then, when no memory is touched any more, Done is closed; closing the TCP connection may take longer.
func (e *endpoint) finish() {
	<-e.over // whoever ends it may have to log that still
	e.mu.Lock()
	for e.sending && !e.flusher.handed || e.completer.completing {
		e.idle.Wait()
	}
	e.flusher.handed = false
	cause, words := e.err, e.lastWords
	e.mu.Unlock()

	e.batchMu.Lock()
	e.llp.Cut(gone(cause))
	e.out.unpin(e.table)
	if words != nil {
		e.counters.TerminatesSent.Add(1)
		appendTerminate(e.llp, e.version, words)
	}
	e.batchMu.Unlock()

	e.table.Close()
	e.completer.flush(cause)
	e.receiver.release()
	close(e.done)

	e.llp.Close(!errors.Is(cause, ddp.ErrStalled))
}

// gone reports whether the peer has ended the connection, so that it takes nothing any more.
func gone(cause error) bool {
	var t *rdmap.Error
	return errors.Is(cause, transport.ErrClosedByPeer) || errors.As(cause, &t) && t.Remote
}
