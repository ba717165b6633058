package oncrpc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// answer answers a call that ends with err.
func (s *Server) answer(c *Call, err error) {
	told := OutcomeForCaller(err)
	if told == ErrDrop {
		s.drop(c)
		return
	}
	atomic.AddUint64(&s.stats.Errors, 1)
	var accept *AcceptError
	if errors.As(told, &accept) && accept.Stat == SystemErr && told != err {
		level := slog.LevelError
		if c.in.Context().Err() != nil {
			// the connection's end caused the error, and nobody waits for the reply
			level = slog.LevelDebug
		}
		program, procedure := c.names()
		s.log.Log(c.in.Context(), level, "rpc handler failed", "program", program, "procedure", procedure,
			"peer", c.Conn.RemoteAddr(), "err", err)
	}
	c.enc.Rewind(xdr.Mark{})
	encodeError(&c.enc, c.XID, &c.acceptance.Verifier, told)
	c.apart = false
	c.failed()
	s.reply(c)
}

// reply sends the encoded reply.
func (s *Server) reply(c *Call) {
	e := &c.enc
	if c.apart {
		if !s.assembled(c) {
			return
		}
		e = c.out
	}
	m := e.Message()
	m.Owner = (*owner)(c)
	c.end()
	c.in.Reply(m)
}

// assembled makes the reply from the header and the results. If that fails, it answers the call
// with an error and returns false.
func (s *Server) assembled(c *Call) bool {
	err := s.assemble(c)
	if err != nil {
		c.forgetReply()
		s.answer(c, fmt.Errorf("results cannot be protected: %w", err))
	}
	return err == nil
}

// assemble does the work of assembled.
func (s *Server) assemble(c *Call) error {
	a := &c.acceptance
	c.plain = c.enc.Message()
	c.makeReply()
	encodeSuccess(c.out, c.XID, &a.Verifier)
	if a.Wrapper == nil {
		c.out.Append(&c.plain)
	} else if err := s.guard(c.in.Context(), c, wrapResults, false); err != nil {
		return err
	}
	if err := c.out.Err(); err != nil {
		return errResults{err}
	}
	return nil
}

// wrapResults is Wrap as a Handler.
func wrapResults(_ context.Context, c *Call) error {
	return c.acceptance.Wrapper.Wrap(c.out, &c.plain)
}

// finished takes back a call whose reply has been sent or cannot be sent any more.
func (s *Server) finished(c *Call) {
	if c.apart { // the sent message did not own what the results refer to
		c.plain = c.enc.Message()
		c.plain.Release()
		c.plain = xdr.Message{}
		c.forgetReply()
	}
	if s.replies != nil {
		s.replies.ended(&c.arrival)
	}
	c.forget()
	c.CallHeader = CallHeader{}
	c.Conn, c.in, c.origin = nil, nil, nil
	c.proc, c.prog, c.refusal, c.flavor, c.replay = nil, nil, nil, nil, nil
	c.onWorker, c.apart, c.resumed = false, false, false
	scratch := c.acceptance.Scratch
	if r, ok := scratch.(xdr.Releaser); ok {
		r.Release()
	}
	c.acceptance = Acceptance{call: c, Scratch: scratch}
	c.arrival.State = nil
	c.inline, c.once.refused = nil, false
	c.sys, c.believed = SysCred{GIDs: c.sys.GIDs}, false
	s.calls.put(c)
	s.ended()
}
