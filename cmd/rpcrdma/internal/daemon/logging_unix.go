//go:build unix

package daemon

import (
	"log/slog"
	"os"
	"os/signal"
	"syscall"
)

// levelHint is what --log-level says of changes at run time.
const levelHint = "; signal USR1 switches to debug, and back"

// watch has SIGUSR1 change the level of the log, until end is called.
func (l *Logging) watch(log *slog.Logger) (end func()) {
	c := make(chan os.Signal, 1)
	over := make(chan struct{})
	done := make(chan struct{})
	signal.Notify(c, syscall.SIGUSR1)
	go func() {
		defer close(done)
		for {
			select {
			case <-c:
				l.toggle(log)
			case <-over:
				return
			}
		}
	}()
	return func() {
		signal.Stop(c)
		close(over)
		<-done
	}
}
