package rpcrdma

import (
	"github.com/rpcrdma/go-rpcrdma/credits"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// responder answers the calls of the peer. A call goes through these files, in this order:
// admission.go, fetch.go, the server's handler, replylayout.go, replysend.go.
type responder struct {
	conn *Conn

	// Conn.mu guards what follows.
	granter credits.Granter
	server  oncrpc.Dispatcher // or noServer
	leave   func()            // takes the connection back from server
}

// noServer is the server of a connection that nobody serves.
var noServer oncrpc.Dispatcher

// nobody answers the calls on connections that nothing serves: it has no programs.
var nobody = oncrpc.DispatcherOf(new(oncrpc.Server))

// Serve answers the peer's calls with s from now on. Before that they are answered PROG_UNAVAIL.
func (c *Conn) Serve(s *oncrpc.Server) {
	d := oncrpc.DispatcherOf(s)
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

// received takes a call, with its message when that is inline.
func (rs *responder) received(r *receive, m message) {
	if in := rs.take(r, m); in != nil {
		in.admit()
	}
}

// refuse answers a call in error with an RDMA_ERROR.
func (rs *responder) refuse(r *receive, err error, code ErrCode) {
	c := rs.conn
	count := &c.stats.malformed
	if code == ErrVers {
		count = &c.stats.badVersion
	}
	c.fault(count, "message refused", c.receiver.header.XID, err)
	if in := rs.take(r, message{}); in != nil {
		in.refuse(code)
	}
}

// take makes a call of the peer's of a message that used up a receive, unless the connection has
// ended.
func (rs *responder) take(r *receive, m message) *incoming {
	c := rs.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return nil
	}
	c.supply.arrived(r)
	rs.granter.CallReceived()
	return rs.newIncoming(r, m)
}

// newIncoming makes an incoming of the message with c.receiver.header; c.mu is held.
func (rs *responder) newIncoming(r *receive, m message) *incoming {
	c := rs.conn
	s := rs.server
	if s == noServer {
		s = nobody
	}
	in := getIncoming(c, s)
	in.recv, in.message = r, m
	// The next message is parsed into the memory of an earlier one.
	in.header, c.receiver.header = c.receiver.header, in.header
	return in
}
