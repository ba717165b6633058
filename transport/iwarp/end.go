package iwarp

import (
	"errors"
	"net"
	"runtime"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
	"github.com/rpcrdma/go-rpcrdma/transport/ring"
)

// run receives until the connection ends, and then takes it apart.
func (e *endpoint) run() {
	select {
	case <-e.started:
		e.receive()
	case <-e.over:
	}
	e.finish()
}

// receive takes what the peer sends until the connection ends.
func (e *endpoint) receive() {
	for {
		err := e.llp.Receive(e)
		e.deliver()
		e.uncork()
		held := err == ddp.ErrHold
		if err != nil && !held {
			e.receiveFailed(err)
			return
		}
		e.send()
		e.completer.complete()
		if e.in.fetched {
			e.in.fetched = false
			runtime.Gosched() // for who waits for an RDMA Read, before more is read
		}
		e.completer.catchUp()
		if e.Err() != nil || held && !e.awaitResume() {
			return
		}
	}
}

func (e *endpoint) uncork() {
	e.mu.Lock()
	e.corked = false
	e.mu.Unlock()
}

// receiveFailed ends the connection because of an error of Receive.
func (e *endpoint) receiveFailed(err error) {
	var (
		bad   *violation
		told  *terminated
		fault *ddp.Fault
		words *rdmap.Terminate
		count *atomic.Uint64
		line  string
	)
	switch {
	case errors.As(err, &bad):
		err, words, line = bad.err, &bad.terminate, "connection terminated: bad segment"
	case errors.As(err, &told):
		err, count, line = told.err, &e.counters.TerminatesReceived, "connection terminated by peer"
	case errors.As(err, &fault):
		code := rdmap.Code(fault.Code)
		words, count, line = &rdmap.Terminate{Code: code}, e.counters.faults(code), "connection terminated"
	case errors.Is(err, ddp.ErrStalled):
		count, line = &e.counters.Stalls, "connection ended"
	case errors.Is(err, ddp.ErrShort):
		line = "connection ended"
	default:
		err = byPeer(err)
	}
	e.end(e.opError("receive", err), words, count, line)
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
	e.mu.Lock()
	e.recvs, e.promised = ring.New[*transport.RecvRequest](0), 0
	e.mu.Unlock()
	clear(e.in.messages)
	e.in.receive, e.in.rest = nil, ddp.Payload{}
	close(e.done)

	e.llp.Close(!errors.Is(cause, ddp.ErrStalled))
}

// gone reports whether the peer has ended the connection, so that it takes nothing any more.
func gone(cause error) bool {
	var t *rdmap.Error
	return errors.Is(cause, transport.ErrClosedByPeer) || errors.As(cause, &t) && t.Remote
}
