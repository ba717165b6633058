package oncrpc

import (
	"context"
	"runtime/debug"
	"sync/atomic"
)

// The methods of a ReplayPolicy, as Handlers for Server.guard, and arrives for the one after which
// the call may have ended.

// arrives asks the policy of a call whether to execute it. If it returns false, the call has ended
// or the policy will end it. If the policy panics, the call is answered as if its handler did; so
// it is if Identity.AppendKey panics, which the reply cache calls.
func (s *Server) arrives(c *Call) (execute bool) {
	conn, returned := c.Conn, false
	defer func() {
		if returned {
			return
		}
		p := recover()
		decided := c.replay == nil || c.resumed // the policy has ended the call, or let it run
		c.replay = nil
		switch {
		case decided:
			atomic.AddUint64(&s.stats.Panics, 1)
			s.log.Error("rpc replay policy panicked", "peer", conn.RemoteAddr(), "panic", p,
				"stack", string(debug.Stack()))
		case p != nil:
			s.refuse(c, s.panicked(c, p))
		default:
			atomic.AddUint64(&s.stats.Panics, 1)
			s.answer(c, errGoexit)
		}
	}()
	execute = c.replay.Arrive(&c.arrival)
	returned = true
	return execute
}

// keepReply passes the results to the policy.
func keepReply(_ context.Context, c *Call) error {
	p := c.replay
	c.replay = nil // it is told once, even if it panics
	c.plain = c.enc.Message()
	p.Executed(&c.arrival, &c.plain)
	return nil
}

// tellFailed tells the policy that a call was not executed.
func tellFailed(_ context.Context, c *Call) error {
	p := c.replay
	c.replay = nil
	p.Failed(&c.arrival)
	return nil
}
