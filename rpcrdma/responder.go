package rpcrdma

import (
	"github.com/rpcrdma/go-rpcrdma/internal/budget"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// responder answers the peer's calls. A call goes through admit.go, incomingfetch.go, arguments.go,
// the server's handler, reply.go and replysend.go, in this order.
type responder struct {
	l         *link
	conn      oncrpc.Transport       // the connection, for handlers
	caller    *caller                // for long messages that turn out to be replies
	share     budget.Share[incoming] // of the memory for chunks
	pinned    *pinnedReplies         // nil: the dialect is RFC8166
	ambiguous *ambiguousReads        // nil likewise

	// Conn.mu guards what follows.
	stalls stalls
	server oncrpc.Dispatcher // or noServer
	leave  func()            // removes the connection from server
}

// noServer is the server of a connection that nobody serves.
var noServer oncrpc.Dispatcher

// unavailable is a server without programs. It answers PROG_UNAVAIL on connections that nothing
// serves.
var unavailable = oncrpc.DispatcherOf(new(oncrpc.Server))

// serve answers calls with d from now on. Before, they are answered PROG_UNAVAIL.
func (rs *responder) serve(d oncrpc.Dispatcher) {
	d.Granted(1) // the first credit (RFC 8166 section 3.3.1)
	leave, err := d.AddConn(rs.conn, nil)
	if err != nil {
		rs.l.fail(err)
		return
	}
	rs.l.mu.Lock()
	if !rs.l.over { // Conn.watch has not taken leave yet
		rs.server = d
		rs.leave, leave = leave, rs.leave
	}
	rs.l.mu.Unlock()
	if leave != nil {
		leave()
	}
}

// ticked ends the connection if a call of the peer has waited for it for too long. In the Draft it
// may take back the memory of the reply instead.
func (rs *responder) ticked() {
	l, p := rs.l, rs.pinned
	l.mu.Lock()
	rs.stalls.look()
	var expired []*incoming
	stalled := false
	for _, in := range rs.stalls.overdue() {
		if p == nil || !p.expire(in) {
			stalled = true
			break
		}
		expired = append(expired, in)
	}
	stalled = stalled || p != nil && p.exhausted()
	if stalled {
		rs.stalls.running = false
	} else {
		rs.stalls.goOn()
	}
	l.mu.Unlock()
	for _, in := range expired {
		p.expired(in)
	}
	if stalled {
		l.fail(ErrStalled)
	}
}
