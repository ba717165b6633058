// Package faultlog logs the faults of peers, and other events that an operator wants to know,
// without letting a peer flood the log. For each host and kind of fault, it logs one record a
// minute at level WARN, with the number of those suppressed since the last. Other events use level
// INFO, and failures of this host level ERROR. Suppressed records appear at level DEBUG.
//
//	faults := faultlog.New(logger)
//	faults.Fault(conn.RemoteAddr(), "malformed message", nil, "error", err)
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
	// period is the time between two records of the same fault of the same host, above level DEBUG.
	period = time.Minute
	// maxFaults is how many combinations of fault and host are counted separately. All further ones
	// are counted as one. An entry last logged more than a period ago makes room, and its count is
	// lost.
	maxFaults = 256
)

// Log is a log of faults. It is safe for concurrent use.
type Log struct {
	log *slog.Logger

	mu     sync.Mutex // guards the fields below
	known  map[fault]*account
	others account // all faults that have no room in known
}

// fault identifies equal records. Only one of them is logged in a period.
type fault struct {
	host peerhost.Host
	msg  string
	kind any
}

// account counts the records of a fault.
type account struct {
	aloud time.Time // when last logged above level DEBUG
	more  int       // suppressed since
}

// New returns a Log that writes to log.
func New(log *slog.Logger) *Log { return &Log{log: log, known: make(map[fault]*account)} }

// Fault logs a fault of a peer at level WARN, with the peer's address as attribute "peer", then
// args, then "more", the number of suppressed records. Records with the same host (whatever the
// port), msg and kind count as the same fault. The kind must be comparable and have few values; it
// may be nil. If the same fault was logged within the last minute, Fault logs at level DEBUG and
// returns false.
func (l *Log) Fault(peer net.Addr, msg string, kind any, args ...any) (aloud bool) {
	return l.say(slog.LevelWarn, peer, msg, kind, args)
}

// Event is like Fault at level INFO, for events that are no faults.
func (l *Log) Event(peer net.Addr, msg string, kind any, args ...any) {
	l.say(slog.LevelInfo, peer, msg, kind, args)
}

// Failure is like Fault at level ERROR, for failures of this host. It takes no peer, and counts
// records by msg and kind alone.
func (l *Log) Failure(msg string, kind any, args ...any) {
	l.tell(slog.LevelError, fault{msg: msg, kind: kind}, args)
}

// Warning is like Failure at level WARN.
func (l *Log) Warning(msg string, kind any, args ...any) {
	l.tell(slog.LevelWarn, fault{msg: msg, kind: kind}, args)
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

// due reports whether a fault is to be logged above level DEBUG, and how many were suppressed since
// the last.
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

// account returns the account of a fault. l.mu is held.
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

// OneOf returns the first of reasons that err wraps, or nil, for use as a kind. Peers can make up
// endless errors, but they cannot add to reasons.
func OneOf(err error, reasons ...error) (kind any) {
	for _, reason := range reasons {
		if errors.Is(err, reason) {
			return reason
		}
	}
	return nil
}
