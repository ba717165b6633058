package oncrpc

import (
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// ReplayPolicy prevents that calls marked Once run twice. By default, a Server recognizes copies of
// a call by transaction id, caller and arguments (ServerConfig.ReplyMemory). A program with better
// knowledge sets Program.Replay, for example to use the session slots of NFS version 4.1. The
// methods must be safe for concurrent use. If one panics, that is like a panic of the handler, and
// the policy must not use the call any more.
type ReplayPolicy interface {
	// Arrive is called when a call has arrived and its flavour has accepted it. If it returns true,
	// the call is executed, and Executed or Failed is called afterwards. Otherwise the policy ends
	// the call itself, now or later, with a method of a. Arrive must not block.
	Arrive(a *OnceCall) (execute bool)
	// Executed is called when a call has been executed, before it is answered with results. These
	// are unwrapped, without a header, and valid until Executed returns.
	Executed(a *OnceCall, results *xdr.Message)
	// Failed is called when a call was not executed: it ends with an error or without an answer.
	Failed(a *OnceCall)
}

// OnceCall is a call presented to a ReplayPolicy. It is valid until the call ends: by one of its
// methods, or when Executed or Failed returns.
type OnceCall struct {
	*Call
	// State is for the policy's use.
	State any
}

// Execute lets the call be executed. Executed or Failed is called afterwards.
func (a *OnceCall) Execute() {
	a.resumed = true
	a.server.workers.do(a.Call)
}

// Answer answers the call with kept results, unwrapped and without bulk data. It copies them.
func (a *OnceCall) Answer(results []byte) {
	a.replay = nil
	a.server.answerAgain(a.Call, results)
}

// Drop ends the call without an answer.
func (a *OnceCall) Drop() {
	a.replay = nil
	a.server.drop(a.Call)
}

// unfetched reports whether a call turns out to be a copy, although its handler has not fetched its
// data.
func (s *Server) unfetched(c *Call) bool {
	return c.replay != nil && c.replay == ReplayPolicy(s.replies) && s.replies.unfetched(&c.arrival)
}

// repeated continues with a call whose handler was stopped because the call is a copy.
func (s *Server) repeated(c *Call) {
	c.enc.Rewind(xdr.Mark{})
	c.once.refused, c.args = false, c.once.args
	if s.replies.again(&c.arrival) {
		s.execute(c) // because the other copy has failed meanwhile
	}
}

// answerAgain answers a call with the results of an earlier copy.
func (s *Server) answerAgain(c *Call, results []byte) {
	atomic.AddUint64(&s.stats.Replayed, 1)
	c.beginResults()
	c.enc.Raw(results)
	s.reply(c)
}

// executed ends a call whose handler has encoded the results.
func (s *Server) executed(c *Call) {
	if c.replay != nil {
		if err := s.guard(c.in.Context(), c, keepReply, true); err != nil {
			s.answer(c, err)
			return
		}
	}
	s.reply(c)
}

// failed tells the policy that a call was not executed.
func (c *Call) failed() {
	if c.replay != nil {
		_ = c.server.guard(c.in.Context(), c, tellFailed, true)
	}
}

// drop ends a call without an answer.
func (s *Server) drop(c *Call) {
	c.failed()
	atomic.AddUint64(&s.stats.Dropped, 1)
	c.end()
	c.in.Drop()
	s.finished(c)
}
