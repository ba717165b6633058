package oncrpc

import "github.com/rpcrdma/go-rpcrdma/xdr"

// admit reports whether a call of a procedure to be executed once shall be executed. If not, it is answered with the
// reply of the earlier call, now or when there is one.
//
// A client calls again when it has lost its connection, which the server may not know yet. So the latest of the calls that wait for
// one and the same reply gets it, and those before it are dropped.
func (s *Server) admit(c *Call) bool {
	execute, reply, displaced := s.replies.arrive(c)
	if displaced != nil {
		s.drop(displaced)
	}
	if reply != nil {
		s.replay(c, reply)
	}
	return execute
}

// executed keeps the reply of a call and sends it, also to the one that waits for it. That one cannot have a reply with bulk
// data, which is given back when it has been sent the first time.
func (s *Server) executed(c *Call) {
	m := c.enc.Message()
	waiter, reply := s.replies.complete(c.once, &m)
	s.reply(c)
	switch {
	case waiter == nil:
	case reply == nil:
		s.drop(waiter)
	default:
		s.replay(waiter, reply)
	}
}

// failed forgets a call that is answered with an error. That may be so because its connection has ended while
// arguments were fetched; thus the call that waits is executed itself.
func (s *Server) failed(o *onceCall) {
	if waiter := s.replies.fail(o); waiter != nil {
		s.workers.do(waiter)
	}
}

// replay answers a call with the reply to an earlier one.
func (s *Server) replay(c *Call, reply []byte) {
	s.stats.replayed.Add(1)
	c.in.Reply(xdr.Message{Inline: reply, Owner: c})
}

// drop gives a call up.
func (s *Server) drop(c *Call) {
	s.stats.dropped.Add(1)
	c.in.Drop()
	s.finished(c)
}
