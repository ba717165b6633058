package oncrpc

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
)

// execute runs the handler of a call and answers it. If the connection has ended meanwhile, execute
// drops the call instead. The caller does not know whether that call was executed. It may have
// repeated it already, and made further calls that this one would undo.
func (s *Server) execute(c *Call) {
	if c.in.Context().Err() != nil {
		s.drop(c)
		return
	}
	c.beginResults()
	err := s.call(c)
	switch {
	case c.once.refused, s.unfetched(c):
		s.repeated(c)
	case err != nil:
		s.answer(c, err)
	default:
		s.executed(c)
	}
}

// call runs the handler of a call, with the interceptors around it.
func (s *Server) call(c *Call) error {
	err := s.guard(c.in.Context(), c, s.handler, true)
	if c.refusal != nil {
		return c.refusal // whatever an interceptor returned
	}
	if len(s.cfg.Interceptors) > 0 {
		err = c.outcome(err) // interceptors may have encoded something
	}
	return err
}

// run executes a call, inside the interceptors.
func (s *Server) run(ctx context.Context, c *Call) error {
	switch {
	case c.refusal != nil:
		return c.refusal
	case c.proc == nil:
		return ErrProcUnavail
	case c.asks():
		with, err := c.prog.Authorize(ctx, c)
		if err != nil {
			return err
		}
		if with != nil {
			ctx = with
		}
	}
	return c.outcome(c.proc.Handler(ctx, c))
}

// outcome returns the error with which a call ends. If the handler's err is nil, it looks for
// errors in arguments and results that the handler may not have noticed.
func (c *Call) outcome(err error) error {
	if err == nil {
		err = c.Args.Err()
	}
	if err == nil && c.enc.Err() != nil {
		err = fmt.Errorf("results cannot be encoded: %w", errResults{c.enc.Err()})
	}
	return err
}

// errResults hides an encoding error from OutcomeForCaller, which would mistake it for an error of
// the arguments.
type errResults struct{ err error }

func (e errResults) Error() string { return e.err.Error() }

// guard runs a handler and turns a panic into an error. If the handler ends the goroutine, guard
// does not return; the outermost guard answers the call.
func (s *Server) guard(ctx context.Context, c *Call, h Handler, outermost bool) (err error) {
	returned := false
	defer func() {
		switch p := recover(); {
		case returned:
		case p != nil:
			err = s.panicked(c, p)
		case outermost:
			atomic.AddUint64(&s.stats.Panics, 1)
			s.answer(c, errGoexit)
		}
	}()
	err = h(ctx, c)
	returned = true
	return err
}

// panicked logs that a handler panicked, and returns the error for the caller.
func (s *Server) panicked(c *Call, p any) error {
	atomic.AddUint64(&s.stats.Panics, 1)
	program, procedure := c.names()
	s.log.Error("rpc handler panicked", "program", program, "procedure", procedure,
		"peer", c.Conn.RemoteAddr(), "panic", p, "stack", string(debug.Stack()))
	return &AcceptError{Stat: SystemErr}
}

// errGoexit is logged; the caller gets SYSTEM_ERR.
var errGoexit = errors.New("handler has called runtime.Goexit")
