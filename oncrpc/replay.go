package oncrpc

import "github.com/rpcrdma/go-rpcrdma/xdr"

// ReplayPolicy decides what becomes of calls that must be executed once, when they come. A Server
// has one that finds copies of a call by transaction id, caller and arguments
// (ServerConfig.ReplyMemory). A program that knows better, as NFS version 4.1 does by the slots of
// its sessions, brings its own: Program.Replay. Its methods are called concurrently.
type ReplayPolicy interface {
	// Arrive is told that a call has come and been accepted by its flavour. If it returns true, the
	// call is executed, and then ends by Executed or Failed. Otherwise the policy ends the call
	// itself, at once or later, by one of the methods of a. Arrive must not block.
	Arrive(a *OnceCall) (execute bool)
	// Executed is told that a call has been executed and is about to be answered with these
	// results. They are the plain ones, without header and wrapping, and valid until Executed
	// returns.
	Executed(a *OnceCall, results *xdr.Message)
	// Failed is told that a call has not been executed: it ends with an error, or without an
	// answer.
	Failed(a *OnceCall)
}

// OnceCall is a call as a ReplayPolicy sees it. It is valid until the call has ended: by one of its
// own methods, or when Executed or Failed returns.
type OnceCall struct {
	*Call
	// State is the policy's own.
	State any
}

// Execute has the call executed, later: it ends by Executed or Failed.
func (a *OnceCall) Execute() { a.server.workers.do(a.Call) }

// Answer answers the call with results that were kept: plain ones without bulk data. They are
// copied.
func (a *OnceCall) Answer(results []byte) {
	a.replay = nil
	a.server.answerAgain(a.Call, results)
}

// Drop ends the call without an answer.
func (a *OnceCall) Drop() {
	a.replay = nil
	a.server.drop(a.Call)
}

// repeated goes on with a call whose handler was stopped because the call is the copy of another
// one.
func (s *Server) repeated(c *Call) {
	c.enc.Rewind(xdr.Mark{})
	c.once.refused, c.args = false, c.once.args
	if s.replies.again(&c.arrival) {
		s.execute(c) // for the other one has failed meanwhile
	}
}

// answerAgain answers a call with the results of an earlier one.
func (s *Server) answerAgain(c *Call, results []byte) {
	s.stats.replayed.Add(1)
	c.beginResults()
	c.enc.Raw(results)
	s.reply(c)
}

// executed ends a call of which the handler has encoded the results.
func (s *Server) executed(c *Call) {
	if c.replay != nil {
		c.keepReply()
	}
	s.reply(c)
}

// keepReply shows the results to the policy.
func (c *Call) keepReply() {
	c.plain = c.enc.Message()
	c.replay.Executed(&c.arrival, &c.plain)
	c.replay = nil
}

// failed tells the policy that a call was not executed.
func (c *Call) failed() {
	if c.replay != nil {
		c.replay.Failed(&c.arrival)
		c.replay = nil
	}
}

// drop gives a call up.
func (s *Server) drop(c *Call) {
	c.failed()
	s.stats.dropped.Add(1)
	c.end()
	c.in.Drop()
	s.finished(c)
}
