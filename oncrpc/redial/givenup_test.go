package redial_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/redial"
)

// Abandoned calls starve a connection only while they use all its credits. Other uses of credits,
// such as calls made directly over the connection, do not count.
func TestGivenUpStall(t *testing.T) {
	const stall = 8 * time.Second
	for _, tt := range []struct {
		name   string
		inUse  int           // of 4 credits, by other calls
		giveUp int           // calls
		answer time.Duration // when they are answered and others get their credits; 0 means never
		ends   bool
	}{
		{"all credits", 0, 4, 0, true},
		{"all but one", 1, 3, 0, false},
		{"more than there are", 0, 5, 0, true},
		{"answered soon", 0, 4, 2500 * time.Millisecond, false},
		{"answered late", 0, 3, time.Hour, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, conns := connectCredited(t, 1, redial.Config{Stall: stall})
				f := conns[0]
				ctx, cancel := context.WithCancel(t.Context())
				var calls []chan error
				for range tt.giveUp {
					calls = append(calls, start(ctx, c, exchange(false)))
					f.next(t)
				}
				f.set(credits{4, tt.inUse + tt.giveUp, 0})
				cancel()
				for _, done := range calls {
					returned(t, done, context.Canceled)
				}
				if tt.answer > 0 {
					time.Sleep(tt.answer)
					f.set(credits{4, 0, 0})
					time.Sleep(stall)
					f.set(credits{4, 4, 0})
				}
				// The peer is alive, so that nothing else makes redial close the connection.
				done := start(t.Context(), c, exchange(false))
				f.next(t).answer <- nil
				returned(t, done, nil)
				time.Sleep(time.Hour)
				if ended := f.Err() != nil; ended != tt.ends {
					t.Errorf("ended: %v, want %v", ended, tt.ends)
				}
			})
		})
	}
}

// The credits of an abandoned call are tracked only while it uses them. Here the connection has
// been idle for hours when other calls use all credits.
func TestGivenUpWhileIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, conns := connectCredited(t, 1, redial.Config{Stall: 8 * time.Second})
		f := conns[0]
		for range 3 {
			ctx, cancel := context.WithCancel(t.Context())
			done := start(ctx, c, exchange(false))
			f.next(t)
			f.set(credits{2, 1, 0})
			cancel()
			returned(t, done, context.Canceled)
			time.Sleep(time.Hour)
			f.set(credits{2, 0, 0}) // answered
			time.Sleep(time.Hour)
		}
		f.set(credits{2, 2, 0})
		time.Sleep(time.Hour)
		done := start(t.Context(), c, exchange(false))
		f.next(t).answer <- nil
		returned(t, done, nil)
		time.Sleep(time.Hour)
		if err := f.Err(); err != nil {
			t.Errorf("it has ended: %v", err)
		}
	})
}

// Calls with a deadline are made every 20 s over a connection whose peer is dead. The connection is
// closed, whether it is a CreditReporter or not, and calls use another.
func TestGivenUpInARow(t *testing.T) {
	const stall, pause, deadline = time.Minute, 20 * time.Second, time.Second
	for _, tells := range []bool{true, false} {
		t.Run(fmt.Sprintf("credits %v", tells), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newFakeHost()
				c := p.connect(t, redial.Config{Stall: stall})
				f := p.conn(t, 0)
				use := func(int) {}
				if tells {
					var conns []*credited
					c, conns = connectCredited(t, 1, redial.Config{Stall: stall})
					f, use = conns[0].fakeConn, func(n int) { conns[0].set(credits{64, n, 0}) }
				}
				began := time.Now()
				for n := 1; f.Err() == nil && time.Since(began) < time.Hour; n++ {
					use(n)
					ctx, cancel := context.WithTimeout(t.Context(), deadline)
					done := start(ctx, c, exchange(false))
					f.next(t)
					<-done
					cancel()
					time.Sleep(pause - deadline)
				}
				if d := time.Since(began); d > 2*stall {
					t.Errorf("closed after %v, want %v or a little more", d, stall)
				}
			})
		})
	}
}

// Errors of the transport's protocol count as replies.
func TestErrorsAreAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFakeHost()
		c := p.connect(t, redial.Config{Stall: 8 * time.Second})
		f := p.conn(t, 0)
		slow := start(t.Context(), c, exchange(false))
		k := f.next(t)
		for range 68 {
			time.Sleep(7 * time.Second)
			done := start(t.Context(), c, exchange(false))
			f.next(t).answer <- fmt.Errorf("refused: %w", oncrpc.ErrAnswered)
			returned(t, done, oncrpc.ErrAnswered)
		}
		k.answer <- nil
		returned(t, slow, nil)
		if err := f.Err(); err != nil {
			t.Errorf("it has ended: %v", err)
		}
	})
}
