package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// ErrSilent means that a server no longer answers although its connection is up.
var ErrSilent = errors.New("it has stopped answering")

// LostError means that a run ended early because its server ended or stopped answering.
type LostError struct {
	Server string // its address; empty if it was started for the run
	Points int    // measured before
	Err    error  // ErrSilent, or how the server's process or its connection ended
}

func (e *LostError) Error() string {
	server, when := "the server's process", "before anything was measured"
	if e.Server != "" {
		server = "the server at " + e.Server
	}
	switch {
	case e.Points == 1:
		when = "after 1 point"
	case e.Points > 1:
		when = fmt.Sprintf("after %d points", e.Points)
	}
	if errors.Is(e.Err, ErrSilent) {
		return fmt.Sprintf("bench: %s stopped answering %s", server, when)
	}
	return fmt.Sprintf("bench: %s was lost %s: %v", server, when, e.Err)
}

// Unwrap returns e.Err.
func (e *LostError) Unwrap() error { return e.Err }

// patience is the default of Options.patience. A silent server is noticed within ten seconds.
const patience = 5 * time.Second

// asks is how often the server is asked during a point that takes too long, before the point is
// given up.
const asks = 5

// errStuck ends a point that takes too long although the server answers.
var errStuck = fmt.Errorf("it took much too long: %w", context.DeadlineExceeded)

// watched returns a context for something that should take d. If it takes longer and the server
// does not answer, the context ends with ErrSilent. If it takes much longer although the server
// answers, it ends with errStuck. The caller must call done at the end.
func (r *runner) watched(ctx context.Context, d time.Duration) (_ context.Context, done func()) {
	ctx, end := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		next := time.NewTimer(d + r.o.patience)
		defer next.Stop()
		for asked := 0; ; asked++ {
			select {
			case <-ctx.Done():
				return
			case <-next.C:
			}
			if asked == asks {
				end(errStuck)
				return
			}
			if err := r.ask(ctx); err != nil {
				end(err)
				return
			}
			next.Reset(r.o.patience)
		}
	})
	return ctx, func() { end(context.Canceled); watch.Wait() }
}

// ask calls the server. The error is ErrSilent if it does not answer in time.
func (r *runner) ask(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, r.o.patience)
	defer cancel()
	_, err := r.control.Usage(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return ErrSilent
	}
	return err
}

// lost explains an error that occurred under a context of watched. It returns a *LostError if the
// server has ended or is silent.
func (r *runner) lost(ctx context.Context, err error) error {
	gone := context.Cause(ctx)
	switch {
	case errors.Is(gone, context.Canceled): // interrupted
		return err
	case errors.Is(gone, errStuck):
		return fmt.Errorf("%w: %w", errStuck, err)
	case gone == nil:
		gone = r.ask(context.Background())
	}
	if gone != nil {
		return &LostError{Server: r.o.Server, Err: gone}
	}
	return err
}
