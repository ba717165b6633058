package rpcrdma

import (
	"errors"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/internal/stats"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// Counters adds up the statistics of all connections whose Config has it, including those that have
// ended. The zero value is ready to use.
type Counters struct {
	mu    sync.Mutex // guards what follows
	now   map[counted]struct{}
	ended Totals // of connections that have ended
}

// Totals are the values of Counters at one time.
type Totals struct {
	Stats
	Traffic
	// Conns counts the connections of each provider (transport.Info.Provider).
	Conns map[string]ConnTotals
	// Refused counts connections that Serve refused for want of memory. That happens only with
	// providers that cannot hold messages back (transport.Info.CanHold): with ErrReceiveMemory, or
	// because the provider has none for the first receives.
	Refused uint64

	// The fields below describe the connections that exist now.

	CreditsGranted int // credits that peers granted to this side
	CreditsInUse   int // how many of these are in use, as in Conn.Credits
	CreditsWaiting int // calls of this side that wait for a credit
	CreditsGiven   int // credits that this side granted to peers
	Serving        int // calls of peers that are under way

	Memory, MemoryLimit               int64 // bytes of Config.ServerMemory: reserved, and in all
	ReceiveMemory, ReceiveMemoryLimit int64 // bytes of Config.ReceiveMemory: reserved, and in all
}

// ConnTotals counts the connections of one provider.
type ConnTotals struct {
	Began uint64
	Ended map[End]uint64
}

// End is how a connection ended.
type End string

// The ways in which a connection can end.
const (
	EndClosed     End = "closed"     // in order, by either side
	EndTerminated End = "terminated" // the peer objected to this side (transport.ErrTerminated)
	EndStalled    End = "stalled"    // ErrStalled, or a timeout of the provider
	EndCredits    End = "credits"    // ErrCreditsExceeded
	EndAccess     End = "access"     // forbidden access by the peer (transport.ErrRemoteAccess)
	EndFailed     End = "failed"     // otherwise: lost by the network, or bad data from the peer
)

// endOf classifies the error with which a connection ended.
func endOf(err error) End {
	var late interface{ Timeout() bool }
	switch {
	case errors.Is(err, ErrCreditsExceeded):
		return EndCredits
	case errors.Is(err, transport.ErrTerminated):
		return EndTerminated
	case errors.Is(err, ErrStalled), errors.As(err, &late) && late.Timeout():
		return EndStalled
	case errors.Is(err, transport.ErrRemoteAccess):
		return EndAccess
	}
	return EndFailed
}

// counted is what adds to Totals while it exists: a connection, or the memory of a Serve.
type counted interface{ addTo(*Totals) }

// exists notes that c exists from now on. A nil *Counters counts nothing.
func (n *Counters) exists(c counted) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.now == nil {
		n.now = make(map[counted]struct{})
	}
	n.now[c] = struct{}{}
}

// gone notes that c no longer exists.
func (n *Counters) gone(c counted) {
	if n != nil {
		n.mu.Lock()
		delete(n.now, c)
		n.mu.Unlock()
	}
}

// began notes a new connection over a provider.
func (n *Counters) began(c counted, provider string) {
	n.exists(c)
	if n != nil {
		n.mu.Lock()
		n.count(provider, func(t *ConnTotals) { t.Began++ })
		n.mu.Unlock()
	}
}

// over keeps the statistics of a connection that has ended.
func (n *Counters) over(c counted, provider string, end End, s *Stats, t *Traffic) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.now, c)
	stats.Add(&n.ended.Stats, s)
	stats.Add(&n.ended.Traffic, t)
	n.count(provider, func(t *ConnTotals) { t.Ended[end]++ })
}

// count applies f to the totals of a provider; n.mu is held.
func (n *Counters) count(provider string, f func(*ConnTotals)) {
	if n.ended.Conns == nil {
		n.ended.Conns = make(map[string]ConnTotals)
	}
	t := n.ended.Conns[provider]
	if t.Ended == nil {
		t.Ended = make(map[End]uint64)
	}
	f(&t)
	n.ended.Conns[provider] = t
}

// refused notes a connection that Serve refused for want of memory.
func (n *Counters) refused() {
	if n != nil {
		n.mu.Lock()
		n.ended.Refused++
		n.mu.Unlock()
	}
}

// Totals returns the current values.
func (n *Counters) Totals() Totals {
	n.mu.Lock()
	defer n.mu.Unlock()
	t := n.ended
	t.Conns = make(map[string]ConnTotals, len(n.ended.Conns))
	for provider, c := range n.ended.Conns {
		ended := make(map[End]uint64, len(c.Ended))
		for end, n := range c.Ended {
			ended[end] = n
		}
		t.Conns[provider] = ConnTotals{c.Began, ended}
	}
	for c := range n.now {
		c.addTo(&t)
	}
	return t
}
