package rpcrdma

import (
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

const (
	// complaintPeriod is how often one fault of one host is logged aloud.
	complaintPeriod = time.Minute
	// maxComplaints is how many faults, and hosts that have them, are told apart. All further ones count as one.
	maxComplaints = 256
)

// complaints is what the log has been told aloud of faults of peers, over all connections of one Serve: a peer that repeats them must not
// fill the log, not by coming again either.
type complaints struct {
	mu     sync.Mutex // guards what follows
	known  map[complaint]*told
	others told // for which known has no room
}

// complaint is what is logged aloud once a period.
type complaint struct {
	host, what string
	reason     error // one of lossReasons, or nil
}

// told is how a complaint has been logged.
type told struct {
	at   time.Time
	more int // that were not aloud since
}

// lossReasons are why a connection may be lost, as far as they are told apart in the log.
var lossReasons = []error{ErrExceeded, ErrStalled, transport.ErrTerminated}

func newComplaints() *complaints { return &complaints{known: make(map[complaint]*told)} }

// aloud reports whether a complaint is to be logged aloud, and of how many like it that was not said since the last.
func (c *complaints) aloud(k complaint, now time.Time) (more int, aloud bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.find(k, now)
	if !t.at.IsZero() && now.Sub(t.at) < complaintPeriod {
		t.more++
		return 0, false
	}
	more = t.more
	t.at, t.more = now, 0
	return more, true
}

// find returns the account of a complaint; c.mu is held.
func (c *complaints) find(k complaint, now time.Time) *told {
	if t := c.known[k]; t != nil {
		return t
	}
	if len(c.known) == maxComplaints {
		for k, t := range c.known {
			if now.Sub(t.at) >= complaintPeriod {
				delete(c.known, k)
			}
		}
	}
	if len(c.known) == maxComplaints {
		return &c.others
	}
	t := new(told)
	c.known[k] = t
	return t
}

// hostOf returns the address of a peer without its port, which is another one when it comes again.
func hostOf(peer net.Addr) string {
	s := peer.String()
	if host, _, err := net.SplitHostPort(s); err == nil {
		return host
	}
	return s
}

// complain counts and logs a fault of the peer: aloud if it has not had the like for a while.
func (c *Conn) complain(count *atomic.Uint64, what string, xid uint32, err error) {
	count.Add(1)
	c.complainOf(complaint{what: what}, "xid", xid, "err", err)
}

// complainOfLoss logs that the connection has ended, and not in order.
func (c *Conn) complainOfLoss(err error) {
	k := complaint{what: "connection lost"}
	for _, reason := range lossReasons {
		if errors.Is(err, reason) {
			k.reason = reason
			break
		}
	}
	c.complainOf(k, "err", err)
}

func (c *Conn) complainOf(k complaint, args ...any) {
	k.host = hostOf(c.info.RemoteAddr)
	more, aloud := c.complaints.aloud(k, time.Now())
	level := slog.LevelDebug
	if aloud {
		level = slog.LevelWarn
	}
	args = append([]any{"peer", c.info.RemoteAddr}, args...)
	if more > 0 {
		args = append(args, "more", more)
	}
	c.cfg.Logger.Log(c.ctx, level, "rpcrdma: "+k.what, args...)
}
