package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
)

// RepeatTime is for how long further signals count as the first one. Coreutils' timeout and
// supervisors signal a process and then its group at once, so the process gets two.
const RepeatTime = time.Second

// UntilSignal returns a context that ends with the first signal. A signal that comes more than
// repeat later ends the process.
func UntilSignal(repeat time.Duration) context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // unless under nohup
		signal.Notify(signals, syscall.SIGHUP)
	}
	end := func(sig os.Signal) {
		// The reader of our messages has had the same signal and may be gone. SIGPIPE must not end
		// this process before it has cleaned up.
		signal.Ignore(syscall.SIGPIPE)
		cancel(SignalError{sig})
	}
	go onSignal(signals, repeat, end, func() { signal.Stop(signals) })
	return ctx
}

// SignalError is the cause of a context that a signal has ended.
type SignalError struct{ Signal os.Signal }

func (e SignalError) Error() string {
	if e.Signal == os.Interrupt {
		return "interrupted"
	}
	return e.Signal.String()
}

// ExitCode is the exit code of a command whose context has ended: 128 plus the number of the
// signal, as in shells.
func ExitCode(ctx context.Context) int {
	var e SignalError
	if errors.As(context.Cause(ctx), &e) {
		if n, ok := e.Signal.(syscall.Signal); ok {
			return 128 + int(n)
		}
	}
	return ExitInterrupted
}

// reloading says that SIGHUP reloads, and does not end the process.
var reloading atomic.Bool

// TakeHangups returns a channel of SIGHUPs, which do not end the process until release is called.
func TakeHangups() (hangups <-chan os.Signal, release func()) {
	c := make(chan os.Signal, 1)
	reloading.Store(true)
	signal.Notify(c, syscall.SIGHUP)
	return c, func() {
		signal.Stop(c)
		reloading.Store(false)
	}
}

// onSignal waits for a signal and calls end. After the time repeat it calls release, which restores
// the default action of signals. Signals in between are ignored.
func onSignal(signals <-chan os.Signal, repeat time.Duration, end func(sig os.Signal), release func()) {
	sig := <-signals
	for sig == syscall.SIGHUP && reloading.Load() {
		sig = <-signals
	}
	end(sig)
	time.Sleep(repeat)
	release()
}
