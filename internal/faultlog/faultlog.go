// Package faultlog logs the faults of peers, and what else they do that an operator wants to know.
// A peer that repeats it, on one connection or on new ones, must not fill the log. Of each host and
// fault, one a minute is logged at level WARN, with the number left out since; other events are at
// level INFO, and failures of this host at level ERROR. All others are at level DEBUG.
package faultlog

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
)

const (
	// period is how often one fault of one host is logged aloud.
	period = time.Minute
	// maxFaults is how many faults, and hosts that have them, are told apart. All further ones
	// count as one. Those that were aloud more than a period ago make room, and how many like them
	// there were since is forgotten.
	maxFaults = 256
)

// Log is a log of faults. It may be used by several goroutines at a time.
type Log struct {
	log *slog.Logger

	mu     sync.Mutex // guards what follows
	known  map[fault]*account
	others account // for which known has no room
}

// fault is what is logged aloud once a period.
type fault struct {
	host peerhost.Host
	msg  string
	kind any
}

// account is how a fault has been logged.
type account struct {
	aloud time.Time // the last time
	more  int       // that were not since
}

// New returns a Log that writes to log.
func New(log *slog.Logger) *Log { return &Log{log: log, known: make(map[fault]*account)} }

// Fault logs a fault of a peer, with its address as the attribute "peer", then args, and "more",
// how many like it were not aloud. What is told apart is the host of the peer, whatever its port,
// msg, and kind, which is comparable, has few values, and may be nil. It reports whether this one
// was at level WARN: there was none like it within the last minute, or only such that were not.
func (l *Log) Fault(peer net.Addr, msg string, kind any, args ...any) (aloud bool) {
	return l.say(slog.LevelWarn, peer, msg, kind, args)
}

// Event is Fault for what is no fault, at level INFO.
func (l *Log) Event(peer net.Addr, msg string, kind any, args ...any) {
	l.say(slog.LevelInfo, peer, msg, kind, args)
}

// Failure is Fault for what fails here, whoever the peer is, at level ERROR.
func (l *Log) Failure(msg string, kind any, args ...any) {
	l.tell(slog.LevelError, fault{msg: msg, kind: kind}, args)
}

func (l *Log) say(level slog.Level, peer net.Addr, msg string, kind any, args []any) (aloud bool) {
	return l.tell(level, fault{peerhost.Of(peer), msg, kind}, append([]any{"peer", peer}, args...))
}

func (l *Log) tell(level slog.Level, f fault, args []any) (aloud bool) {
	more, aloud := l.due(f, time.Now())
	if !aloud {
		level = slog.LevelDebug
	}
	if more > 0 {
		args = append(args, "more", more)
	}
	l.log.Log(context.Background(), level, f.msg, args...)
	return aloud
}

// due reports whether a fault is to be logged aloud, and how many like it there were since the last
// that was.
func (l *Log) due(f fault, now time.Time) (more int, aloud bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.account(f, now)
	if !a.aloud.IsZero() && now.Sub(a.aloud) < period {
		a.more++
		return 0, false
	}
	more = a.more
	a.aloud, a.more = now, 0
	return more, true
}

// account finds what a fault counts for; l.mu is held.
func (l *Log) account(f fault, now time.Time) *account {
	if a := l.known[f]; a != nil {
		return a
	}
	if len(l.known) == maxFaults {
		for f, a := range l.known {
			if now.Sub(a.aloud) >= period {
				delete(l.known, f)
			}
		}
	}
	if len(l.known) == maxFaults {
		return &l.others
	}
	a := new(account)
	l.known[f] = a
	return a
}

// OneOf returns, as a kind, the first of reasons that err wraps, or nil. Peers can make up errors,
// but no more reasons.
func OneOf(err error, reasons ...error) (kind any) {
	for _, reason := range reasons {
		if errors.Is(err, reason) {
			return reason
		}
	}
	return nil
}
