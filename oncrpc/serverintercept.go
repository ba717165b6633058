package oncrpc

import "context"

// ServerInterceptor runs around the execution of a call. It calls next and returns next's error or
// another one; OutcomeForCaller tells what the caller gets for it. It may pass next another
// context.
//
// Next authorizes the call and runs its handler. Its error is that of either, or what the server
// finds wrong: arguments that cannot be decoded, a missing procedure, a panic, or results that
// cannot be encoded. A call refused earlier, for a missing program or by its flavour, also passes
// through: next returns the refusal, and the caller gets that refusal whatever the interceptor
// returns.
//
// Interceptors do not see:
//
//   - calls whose header cannot be decoded, or of another RPC version;
//   - calls that a flavour answers itself;
//   - calls answered with the results of an earlier copy. If bulk data must be fetched to recognize
//     the copy, next returns an error that wraps ErrDrop;
//   - what happens later: results that the flavour cannot protect, replies longer than the caller's
//     room, and connections that end before the reply is sent.
//
// Authorize runs inside next, and only the handler gets the context that Authorize returns. To
// learn what Authorize found out, put a pointer into the context passed to next.
//
// An interceptor runs on the handler's goroutine, so it must not block for NonBlocking procedures.
// For refused calls and missing procedures it runs on a worker, and may block.
type ServerInterceptor func(ctx context.Context, c *Call, next Handler) error

// runGuarded is run for interceptors: it turns a panic into the error that the caller gets.
func (s *Server) runGuarded(ctx context.Context, c *Call) error { return s.guard(ctx, c, s.run, false) }

// intercepted returns run with interceptors around it, the first outermost.
func (s *Server) intercepted(interceptors []ServerInterceptor) Handler {
	if len(interceptors) == 0 {
		return s.run
	}
	h := Handler(s.runGuarded)
	for i := len(interceptors) - 1; i >= 0; i-- {
		intercept, next := interceptors[i], h
		h = func(ctx context.Context, c *Call) error { return intercept(ctx, c, next) }
	}
	return h
}
