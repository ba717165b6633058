package redial

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// DialFunc makes a connection. The context limits only the dialling. When it ends, the function
// must return soon, because calls and Conn.Done wait for that. It is not called concurrently.
type DialFunc func(ctx context.Context) (oncrpc.Transport, error)

// Config configures a Conn. The zero value is usable. New returns a *oncrpc.ConfigError if a value
// is out of range.
type Config struct {
	// Conns is the number of connections over which calls are spread, 1 or more; 0 means 1. A call
	// uses the connection with the fewest credits in use, or with the fewest pending calls if they
	// are no oncrpc.CreditReporter. A connection without free credits gets no call while another
	// has some. While every connection has credits in use, another is dialled in the background.
	Conns int
	// Wait is how long calls wait for a new connection. 0 means not at all: a call whose connection
	// ends fails, and the next call dials once. A negative value means no limit.
	Wait time.Duration
	// Stall is how long a connection may go without a reply before it counts as dead and is closed.
	// Time counts while calls are pending, while abandoned calls use all its credits, or while
	// calls are abandoned one after the other. The check is coarse: up to a quarter more may pass.
	// 0 means 60 s, and a negative value no limit.
	Stall time.Duration
	// Connected, if set, is called once for each new connection, including that of New, on a
	// goroutine of its own. Calls may use the connection already, and several Connected may run at
	// once. It may call over conn and over c, even before New has returned c. Conn.Done waits for
	// it. What must happen before the first call on a connection belongs in the DialFunc.
	Connected func(c *Conn, conn oncrpc.Transport)
	// Logger logs connections that end and come back; nil means slog.Default(). Its handler must
	// not use the Conn, which is locked meanwhile.
	Logger *slog.Logger
	// Counters, if set, counts for this Conn and all others that share it.
	Counters *Counters
}

const (
	// Pauses between attempts to dial. They double each time.
	minPause = 100 * time.Millisecond
	maxPause = 5 * time.Second
	// dialTimeout limits an attempt. The network's own timeout can take minutes.
	dialTimeout = 15 * time.Second
	// leaveTime is how long a lost connection may take to leave its address. One of recordmark may
	// read on for a second after a failed write.
	leaveTime = 2 * time.Second
	// steady is how long a connection must last. One that ends sooner counts as a failed attempt.
	steady = time.Second
)

// withDefaults returns c with defaults in fields that are not set, or a *oncrpc.ConfigError.
func (c Config) withDefaults() (Config, error) {
	if c.Conns < 0 {
		return c, &oncrpc.ConfigError{
			Config: "redial.Config", Field: "Conns", Value: c.Conns, Want: "1 or more, or 0 for the default",
		}
	}
	c.Conns = cmp.Or(c.Conns, 1)
	c.Stall = cmp.Or(c.Stall, time.Minute)
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Counters == nil {
		c.Counters = new(Counters)
	}
	return c, nil
}

// longer returns the pause that follows pause.
func longer(pause time.Duration) time.Duration { return min(max(minPause, 2*pause), maxPause) }
