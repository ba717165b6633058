package iwarp

import (
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
)

const (
	// refusalPeriod is how often a host that is refused again and again is logged.
	refusalPeriod = time.Minute
	// maxRefusals is how many hosts, and reasons of theirs, are told apart. All further ones count as one.
	maxRefusals = 256

	// refusalHold is how long a peer is kept that keeps coming without speaking MPA.
	refusalHold = time.Second
	// maxHeld is how many such peers are kept at a time. Beyond it they are parted with at once.
	maxHeld = 64
)

// refusals is what a listener remembers of the peers that it got no connection with. Some try again at once, for ever: a
// Linux client that mounts over TCP here, say. They must not fill the log.
type refusals struct {
	log      *slog.Logger
	holdTime time.Duration
	held     chan struct{} // a token for each peer that is kept

	mu     sync.Mutex // guards what follows
	known  map[refusal]*account
	others account // for which known has no room
}

// refusal is what is logged once.
type refusal struct {
	host   netip.Addr
	reason error // one of reasons, or nil
}

// reasons are told apart in the log; what wraps two counts for the first. There are few, so that no peer can make up more.
var reasons = []error{mpa.ErrNotMPA, mpa.ErrRevision, mpa.ErrEnhanced, mpa.ErrInsufficientIRD, mpa.ErrFrame}

// account is how a refusal has been logged.
type account struct {
	logged, last time.Time
	more         int // that were left out since logged
}

func newRefusals(log *slog.Logger, hold time.Duration) *refusals {
	return &refusals{log: log, holdTime: hold, held: make(chan struct{}, maxHeld), known: make(map[refusal]*account)}
}

// warn logs why there is no connection with a peer, unless the like of it has been logged within the period: then it is counted, for
// the next line. It reports whether there has been the like of it.
func (r *refusals) warn(msg string, peer net.Addr, err error) (again bool) {
	now := time.Now()
	r.mu.Lock()
	a := r.account(peer, err, now)
	again = now.Sub(a.last) < refusalPeriod
	a.last = now
	due, more := now.Sub(a.logged) >= refusalPeriod, a.more
	if due {
		a.logged, a.more = now, 0
	} else {
		a.more++
	}
	r.mu.Unlock()
	switch {
	case due && more > 0:
		r.log.Warn(msg, "peer", peer, "err", err, "more", more)
	case due:
		r.log.Warn(msg, "peer", peer, "err", err)
	}
	return again
}

// account finds what a refusal counts for; r.mu is held.
func (r *refusals) account(peer net.Addr, err error, now time.Time) *account {
	tcp, _ := peer.(*net.TCPAddr)
	key := refusal{host: tcp.AddrPort().Addr().Unmap()}
	for _, reason := range reasons {
		if errors.Is(err, reason) {
			key.reason = reason
			break
		}
	}
	if a := r.known[key]; a != nil {
		return a
	}
	if len(r.known) == maxRefusals {
		for k, a := range r.known {
			if now.Sub(a.last) >= refusalPeriod {
				delete(r.known, k)
			}
		}
	}
	if len(r.known) == maxRefusals {
		return &r.others
	}
	a := new(account)
	r.known[key] = a
	return a
}

// hold keeps a peer waiting that would be back at once: what it has sent is not answered, and the connection stays for that long. It returns early when over is closed, or where too many wait already.
func (r *refusals) hold(over <-chan struct{}) {
	select {
	case r.held <- struct{}{}:
	default:
		return
	}
	defer func() { <-r.held }()
	select {
	case <-over:
	case <-time.After(r.holdTime):
	}
}
