package remote

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/redial"
)

// late is a connection that answers each call after some time, or never if that is 0.
type late struct {
	oncrpc.Transport
	after time.Duration
	done  chan struct{}
}

func (l *late) RoundTrip(ctx context.Context, _ *oncrpc.Exchange) error {
	var answer <-chan time.Time
	if l.after > 0 {
		answer = time.After(l.after)
	}
	select {
	case <-answer:
		return nil
	case <-l.done:
		return net.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *late) Close() error {
	select {
	case <-l.done:
	default:
		close(l.done)
	}
	return nil
}

func (l *late) Done() <-chan struct{} { return l.done }
func (l *late) Err() error            { return net.ErrClosed }
func (l *late) RemoteAddr() net.Addr  { return &net.TCPAddr{} }

// patientWith returns a transport that waits for up to 5 s, and the messages to the user.
func patientWith(t *testing.T, l *late, verbose bool) (patient, *strings.Builder) {
	t.Helper()
	told := new(strings.Builder)
	dial := func(context.Context) (oncrpc.Transport, error) { return l, nil }
	conn, err := redial.New(t.Context(), dial, redial.Config{Wait: time.Hour, Logger: reach.Quiet})
	if err != nil {
		t.Fatal(err)
	}
	n := &notices{out: told, from: "tcp://host", verbose: verbose}
	p := &patience{wait: 5 * time.Second, tell: n, close: func() { conn.Close() }}
	return patient{conn, p}, told
}

// TestPatienceSlow: a command waits for a server that answers each call after 4 s, however often.
// Only with --verbose does it say so.
func TestPatienceSlow(t *testing.T) {
	for verbose, want := range map[bool]string{
		false: "",
		true: "rpcrdma: tcp://host has not answered for 1s; waiting for up to 5s\n" +
			"rpcrdma: tcp://host has answered after 4s\n",
	} {
		synctest.Test(t, func(t *testing.T) {
			p, told := patientWith(t, &late{after: 4 * time.Second, done: make(chan struct{})}, verbose)
			for range 3 {
				if err := p.RoundTrip(t.Context(), new(oncrpc.Exchange)); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(time.Hour) // in which nothing is owed
			if err := p.RoundTrip(t.Context(), new(oncrpc.Exchange)); err != nil {
				t.Fatal(err)
			}
			p.Close()
			<-p.Done()
			if verbose {
				want += want // once more, behind the hour
			}
			if got := told.String(); got != want {
				t.Errorf("verbose %v: told\n%swant\n%s", verbose, got, want)
			}
		})
	}
}

// TestPatienceSilent: a server that answers nothing is given up when the time is over. Later calls
// fail at once.
func TestPatienceSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := patientWith(t, &late{done: make(chan struct{})}, false)
		began := time.Now()
		first := make(chan error, 1)
		go func() { first <- p.RoundTrip(t.Context(), new(oncrpc.Exchange)) }()
		time.Sleep(3 * time.Second)
		watched, done := p.patience.watch(t.Context())
		<-watched.Done()
		for _, err := range []error{
			<-first, done(watched.Err()), p.RoundTrip(t.Context(), new(oncrpc.Exchange)),
		} {
			var silent *SilentError
			if !errors.As(err, &silent) || silent.For != 5*time.Second {
				t.Errorf("got %v, want that there was no answer for 5s", err)
			}
		}
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("given up after %v, want 5s", took)
		}
		<-p.Done()
	})
}
