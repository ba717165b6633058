package oncrpc

import (
	"context"
	"fmt"
	"sync/atomic"
)

// dispatch executes a call. It returns when a non-blocking handler has run; otherwise at once.
func (s *Server) dispatch(in IncomingCall, from *Origin) {
	if s.inflight.Add(1)&closing != 0 {
		atomic.AddUint64(&s.stats.Dropped, 1)
		in.Drop()
		s.ended()
		return
	}
	atomic.AddUint64(&s.stats.Calls, 1)
	if s.forward != nil && !s.serves(in.Message()) {
		s.hand(in)
		return
	}

	c := s.calls.get()
	if c == nil {
		c = &Call{server: s}
		c.arrival.Call, c.acceptance.call, c.once.call = c, c, c
	}
	c.enc.Reset()
	c.args = *in.Message()
	c.in, c.Conn, c.origin, c.place = in, in.Conn(), from, place{host: from.host}
	c.Args, c.Results = &c.args, &c.enc
	if w, ok := in.(WaitingCall); ok {
		w.Becomes(c)
	}
	if err := c.CallHeader.decode(c.Args); err != nil {
		s.answer(c, err)
		return
	}
	switch f := s.flavorOf(c); {
	case f == nil:
		_ = s.findProgram(c) // for interceptors
		// RFC 5531 section 8.1 leaves the answer open; Linux sends this one
		s.refuse(c, &AuthError{AuthBadCred})
	case f.blocks:
		c.flavor = f
		s.workers.do(c)
	default:
		if err := f.accept(in.Context(), c); err != nil {
			_ = s.findProgram(c)
			s.refuse(c, err)
			return
		}
		s.accepted(c)
	}
}

// flavorOf returns the flavour of a call's credential, or nil.
func (s *Server) flavorOf(c *Call) *acceptor {
	for i := range s.flavors {
		if f := &s.flavors[i]; f.number == c.Cred.Flavor {
			return f
		}
	}
	return nil
}

// findProgram finds the program and procedure of a call. It runs after the flavour has accepted the
// call, so that the answer PROG_UNAVAIL carries the flavour's verifier.
func (s *Server) findProgram(c *Call) error {
	progs := s.programs.Load()
	c.prog = progs.byVersion[[2]uint32{c.Program, c.Version}]
	if c.prog == nil {
		if v, ok := progs.versions[c.Program]; ok {
			return &AcceptError{Stat: ProgMismatch, Low: v[0], High: v[1]}
		}
		return &AcceptError{Stat: ProgUnavail}
	}
	if c.Procedure < uint32(len(c.prog.Procedures)) && c.prog.Procedures[c.Procedure].Handler != nil {
		c.proc = &c.prog.Procedures[c.Procedure]
	}
	return nil
}

// work continues a call on a worker.
func (s *Server) work(c *Call) {
	c.onWorker = true
	if c.refusal != nil {
		s.answer(c, s.call(c))
		return
	}
	f := c.flavor
	if f == nil {
		s.execute(c)
		return
	}
	c.flavor = nil
	if c.in.Context().Err() != nil {
		s.drop(c)
		return
	}
	if err := s.guard(c.in.Context(), c, f.accept, true); err != nil {
		_ = s.findProgram(c)
		s.refuse(c, err)
		return
	}
	s.accepted(c)
}

// accept is Accept as a Handler.
func (a *acceptor) accept(ctx context.Context, c *Call) error {
	err := a.Accept(ctx, &c.acceptance)
	if n := len(c.acceptance.Verifier.Body); n > MaxAuthBody {
		c.acceptance.Verifier = Auth{}
		err = fmt.Errorf("verifier of %d bytes, %d allowed", n, MaxAuthBody)
	}
	return err
}

// accepted continues a call that its flavour has accepted.
func (s *Server) accepted(c *Call) {
	if c.acceptance.answered {
		c.apart, c.acceptance.Wrapper = true, nil
		if err := c.enc.Err(); err != nil {
			s.answer(c, fmt.Errorf("answer of the flavour cannot be encoded: %w", errResults{err}))
			return
		}
		s.reply(c)
		return
	}
	if err := s.findProgram(c); err != nil {
		s.refuse(c, err)
		return
	}
	moves := false // whether the call changes shares after its flavour ran
	if c.prog.Share != nil && c.proc != nil && !c.proc.NonBlocking {
		before := c.place.share
		if err := s.guard(c.in.Context(), c, chooseShare, true); err != nil {
			s.refuse(c, err)
			return
		}
		moves = c.onWorker && c.place.share != before
	}
	if c.proc != nil && c.proc.Once {
		if c.replay = c.prog.Replay; c.replay == nil && s.replies != nil {
			c.replay = s.replies
		}
		if c.replay != nil && !s.arrives(c) {
			return // do not touch c: it may be another call by now
		}
	}
	if c.onWorker && !moves || !c.onWorker && s.atOnce(c) {
		s.execute(c)
		return
	}
	s.workers.do(c)
}

// chooseShare asks the program for the share of a call, as a Handler.
func chooseShare(_ context.Context, c *Call) error {
	c.place.share = c.prog.Share(c)
	return nil
}

// atOnce reports whether a call can be executed without blocking.
func (s *Server) atOnce(c *Call) bool {
	if c.proc == nil {
		return len(s.cfg.Interceptors) == 0
	}
	return c.proc.NonBlocking && c.in.Ready() && !c.asks()
}

// asks reports whether Program.Authorize must be asked about the call.
func (c *Call) asks() bool { return c.prog.Authorize != nil && c.Procedure != 0 }

// refuse ends a call that does not get to its procedure.
func (s *Server) refuse(c *Call, err error) {
	c.refusal = err
	if len(s.cfg.Interceptors) > 0 && !c.onWorker {
		s.workers.do(c)
		return
	}
	s.answer(c, s.call(c))
}
