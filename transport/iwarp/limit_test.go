package iwarp

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// White-box: limit is tested from inside, with a connection that pauses within SetDeadline. From
// outside, a context cannot be made to end at that moment.

// deadlines is a connection that reports the deadlines it is given, and waits for permission with
// all but the first.
type deadlines struct {
	net.Conn
	set   chan time.Time
	leave chan struct{}
}

func (d *deadlines) SetDeadline(t time.Time) error {
	d.set <- t
	<-d.leave
	return nil
}

// A context that ends just as the startup completes does not set a deadline for what follows.
func TestLimitStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := &deadlines{set: make(chan time.Time, 2), leave: make(chan struct{}, 1)}
		ctx, cancel := context.WithCancel(t.Context())
		conn.leave <- struct{}{}
		stop, err := limit(ctx, conn, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		<-conn.set
		cancel()
		<-conn.set // SetDeadline is running
		stopped := make(chan struct{})
		go func() {
			stop()
			close(stopped)
		}()
		synctest.Wait()
		select {
		case <-stopped:
			t.Error("stop has returned while a deadline is being set")
		default:
		}
		close(conn.leave)
		<-stopped
	})
}
