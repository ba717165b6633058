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

// RepeatTime is how long further signals mean what the first meant: coreutils' timeout and
// supervisors send one to a process and at once to its group, which is two for the process.
const RepeatTime = time.Second

// UntilSignal returns a context that ends with the first signal. One that comes more than repeat
// later ends the process.
func UntilSignal(repeat time.Duration) context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		signal.Notify(signals, syscall.SIGHUP)
	}
	end := func(sig os.Signal) {
		// What the messages are piped to has had the same signal, and may be gone: that shall not
		// end this before it is through.
		signal.Ignore(syscall.SIGPIPE)
		cancel(SignalError{sig})
	}
	go onSignal(signals, repeat, end, func() { signal.Stop(signals) })
	return ctx
}

// SignalError is why a context has ended: a signal came.
type SignalError struct{ Signal os.Signal }

func (e SignalError) Error() string {
	if e.Signal == os.Interrupt {
		return "interrupted"
	}
	return e.Signal.String()
}

// ExitCode is that of a command whose context has ended, as shells have it: 128 and the number of
// the signal.
func ExitCode(ctx context.Context) int {
	var e SignalError
	if errors.As(context.Cause(ctx), &e) {
		if n, ok := e.Signal.(syscall.Signal); ok {
			return 128 + int(n)
		}
	}
	return ExitInterrupted
}

// reloading is whether SIGHUP has something be read again, and does not end the process.
var reloading atomic.Bool

// TakeHangups has SIGHUP come here, and not end the process, until release is called.
func TakeHangups() (hangups <-chan os.Signal, release func()) {
	c := make(chan os.Signal, 1)
	reloading.Store(true)
	signal.Notify(c, syscall.SIGHUP)
	return c, func() {
		signal.Stop(c)
		reloading.Store(false)
	}
}

// onSignal waits for a signal and calls end, and after the time of repeat, whatever comes
// meanwhile, release, which gives signals back their usual meaning.
func onSignal(signals <-chan os.Signal, repeat time.Duration, end func(sig os.Signal), release func()) {
	sig := <-signals
	for sig == syscall.SIGHUP && reloading.Load() {
		sig = <-signals
	}
	end(sig)
	time.Sleep(repeat)
	release()
}
