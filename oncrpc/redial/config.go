package redial

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// DialFunc makes a connection. The context bounds the making only. When it ends, the function must
// return soon, as calls and Conn.Done wait for that. It is not called concurrently.
type DialFunc func(ctx context.Context) (oncrpc.Transport, error)

// Config configures a Conn. The zero value is usable. New returns a *oncrpc.ConfigError if a value
// is out of range.
type Config struct {
	// Conns is the number of connections over which calls are spread, 1 or more; 0 means 1. A call
	// goes to the one with the fewest credits in use, if they tell (oncrpc.CreditReporter), or else
	// with the fewest calls under way. One that has no credits left gets no call while another has
	// some. While all have some in use, a further one is dialled in the background.
	Conns int
	// Wait is how long calls wait for a connection to come back. 0 is not at all: a call under way
	// when its connection ends fails, and the next one dials, once. Less than 0 is for ever.
	Wait time.Duration
	// Stall is how long a connection may go without any reply while calls are under way, or while
	// calls that were given up use all its credits, or are given up one after the other, before it
	// is taken for dead and closed. It is checked coarsely: a quarter of it more may pass. 0 means
	// 60 s, less than 0 for ever.
	Stall time.Duration
	// Connected, if set, is called once for each connection made, that of New included, with the
	// Conn that made it. It runs on a goroutine of its own, when calls may go over the connection
	// already, and may overlap with itself. It may call over conn and over c, also before New has
	// returned c. Conn.Done waits until it has returned. What must be done before the first call
	// goes over a connection belongs in the DialFunc.
	Connected func(c *Conn, conn oncrpc.Transport)
	// Logger is told of connections that end and come back; nil means slog.Default(). Its handler
	// must not use the Conn, which is locked then.
	Logger *slog.Logger
	// Counters, if set, counts for this Conn and others that share it.
	Counters *Counters
}

const (
	// Pauses between attempts to dial, doubled each time.
	minPause = 100 * time.Millisecond
	maxPause = 5 * time.Second
	// dialTimeout bounds an attempt: that of the network can take minutes.
	dialTimeout = 15 * time.Second
	// steady is how long a connection must have lasted for its end to be no failed attempt.
	steady = time.Second
)

// withDefaults fills in what is not set. It fails with a *oncrpc.ConfigError.
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

// longer is the pause after one.
func longer(pause time.Duration) time.Duration { return min(max(minPause, 2*pause), maxPause) }
