package cli

import (
	"context"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
)

// RepeatTime is how long further signals mean what the first meant: coreutils' timeout and supervisors send one to a process and
// at once to its group, which is two for the process.
const RepeatTime = time.Second

// UntilSignal returns a context that ends with the first signal. One that comes more than repeat later ends the process.
func UntilSignal(repeat time.Duration) context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		signal.Notify(signals, syscall.SIGHUP)
	}
	end := func() {
		// What the messages are piped to has had the same signal, and may be gone: that shall not end this before it is through.
		signal.Ignore(syscall.SIGPIPE)
		cancel()
	}
	go onSignal(signals, repeat, end, func() { signal.Stop(signals) })
	return ctx
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

// onSignal waits for a signal and calls end, and after the time of repeat, whatever comes meanwhile, release, which gives signals back their
// usual meaning.
func onSignal(signals <-chan os.Signal, repeat time.Duration, end, release func()) {
	for sig := <-signals; sig == syscall.SIGHUP && reloading.Load(); {
		sig = <-signals
	}
	end()
	time.Sleep(repeat)
	release()
}
