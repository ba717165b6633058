package rpcrdma

import "github.com/rpcrdma/go-rpcrdma/oncrpc"

// responder answers the peer's calls. A call goes through admission.go, arguments.go, the server's
// handler, reply.go and replysend.go, in this order.
type responder struct {
	conn *Conn

	// Conn.mu guards what follows.
	server oncrpc.Dispatcher // or noServer
	leave  func()            // removes the connection from server
}

// noServer is the server of a connection that nobody serves.
var noServer oncrpc.Dispatcher

// unavailable is a server without programs. It answers PROG_UNAVAIL on connections that nothing
// serves.
var unavailable = oncrpc.DispatcherOf(new(oncrpc.Server))

// Serve answers the peer's calls with s from now on. Before, they are answered PROG_UNAVAIL.
func (c *Conn) Serve(s *oncrpc.Server) {
	c.serve(oncrpc.DispatcherOf(s).For(c.RemoteAddr()))
}

func (c *Conn) serve(d oncrpc.Dispatcher) {
	d.Granted(1) // the first credit (RFC 8166 section 3.3.1)
	leave, err := d.AddConn(c, nil)
	if err != nil {
		c.fail(err)
		return
	}
	c.mu.Lock()
	if !c.over { // watch has not taken c.responder.leave yet
		c.responder.server = d
		c.responder.leave, leave = leave, c.responder.leave
	}
	c.mu.Unlock()
	if leave != nil {
		leave()
	}
}
