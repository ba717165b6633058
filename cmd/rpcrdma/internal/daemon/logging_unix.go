//go:build unix

package daemon

import (
	"log/slog"
	"os"
	"os/signal"
	"syscall"
)

// levelHint is added to the help of --log-level: how to change it at run time.
const levelHint = "; signal USR1 switches to debug, and back"

// watch toggles the level of the log on SIGUSR1, until end is called.
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
