package redial_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/redial"
)

func TestNewFails(t *testing.T) {
	p := newFakeHost()
	p.set(errRefused, false)
	c, err := redial.New(context.Background(), p.dial, redial.Config{Wait: time.Hour})
	var op *redial.OpError
	if c != nil || !errors.Is(err, errRefused) || !errors.As(err, &op) || err.Error() != "redial dial: connection refused" {
		t.Errorf("got %v, %v", c, err)
	}
	p.set(nil, true)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := redial.New(ctx, p.dial, redial.Config{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

// The context of New does not end the connections.
func TestNewContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFakeHost()
		ctx, cancel := context.WithCancel(context.Background())
		c, err := redial.New(ctx, p.dial, redial.Config{Logger: p.logger()})
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		p.conn(t, 0).end(errReset)
		done := start(context.Background(), c, exchange(false))
		p.conn(t, 1).next(t).answer <- nil
		returned(t, done, nil)
		c.Close()
		<-c.Done()
	})
}

// Close ends pending and waiting calls, whether they may be repeated or not.
func TestClose(t *testing.T) {
	for _, away := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			p := newFakeHost()
			c := p.connect(t, redial.Config{Conns: 2, Wait: time.Hour})
			again := start(t.Context(), c, exchange(true))
			once := start(t.Context(), c, exchange(false))
			p.conn(t, 1) // dialled for the second
			if away {
				p.set(nil, true)
				p.conn(t, 0).end(errReset)
				p.conn(t, 1).end(errReset)
				returned(t, once, errReset)
				once = start(t.Context(), c, exchange(false))
			}
			running(t, again)
			running(t, once)
			select {
			case <-c.Done():
				t.Error("done before Close")
			default:
			}
			if c.Err() != nil {
				t.Error(c.Err())
			}
			p.logged()
			for range 2 {
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			}
			<-c.Done()
			for _, done := range []chan error{again, once} {
				returned(t, done, net.ErrClosed)
			}
			var op *redial.OpError
			if err := c.Err(); !errors.Is(err, net.ErrClosed) || !errors.As(err, &op) || op.Op != "close" {
				t.Errorf("Err %v", err)
			}
			err := c.RoundTrip(t.Context(), exchange(true))
			if !errors.Is(err, net.ErrClosed) || !errors.As(err, &op) || op.Op != "call" {
				t.Errorf("a call afterwards: %v", err)
			}
			if log := p.logged(); log != "" {
				t.Errorf("log %s", log)
			}
			for _, f := range p.conns {
				if f.Err() == nil {
					t.Errorf("%s is open", f.name)
				}
			}
		})
	}
}

// A connection made after Close is closed.
func TestCloseWhileDialling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		made, proceed := newFakeConn("late"), make(chan struct{})
		first := newFakeConn("first")
		dials := 0
		c, err := redial.New(t.Context(), func(context.Context) (oncrpc.Transport, error) {
			if dials++; dials == 1 {
				return first, nil
			}
			<-proceed
			return made, nil
		}, redial.Config{Wait: time.Hour, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		first.Close()
		done := start(t.Context(), c, exchange(true))
		running(t, done)
		c.Close()
		returned(t, done, net.ErrClosed)
		select {
		case <-c.Done():
			t.Error("done while it dials")
		default:
		}
		close(proceed)
		<-c.Done()
		if made.Err() == nil {
			t.Error("the late connection is open")
		}
	})
}
