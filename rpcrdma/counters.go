package rpcrdma

import (
	"errors"
	"reflect"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// Counters adds up the statistics of all connections whose Config has it, including those that have
// ended. The zero value is ready to use.
type Counters struct {
	mu      sync.Mutex // guards what follows
	conns   map[*Conn]struct{}
	servers map[*acceptor]struct{}
	ended   Totals // of connections that have ended
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

// began notes a new connection. A nil *Counters counts nothing.
func (n *Counters) began(c *Conn) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.conns == nil {
		n.conns = make(map[*Conn]struct{})
	}
	n.conns[c] = struct{}{}
	n.count(c.info.Provider, func(t *ConnTotals) { t.Began++ })
}

// over keeps the statistics of a connection that has ended, in order or not.
func (n *Counters) over(c *Conn, inOrder bool) {
	if n == nil {
		return
	}
	end := EndClosed
	if !inOrder {
		end = endOf(c.Err())
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.conns, c)
	n.ended.add(c)
	n.count(c.info.Provider, func(t *ConnTotals) { t.Ended[end]++ })
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

// serves includes the memory of a Serve, until the returned function is called.
func (n *Counters) serves(a *acceptor) (no func()) {
	if n == nil {
		return func() {}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.servers == nil {
		n.servers = make(map[*acceptor]struct{})
	}
	n.servers[a] = struct{}{}
	return func() {
		n.mu.Lock()
		delete(n.servers, a)
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
	for c := range n.conns {
		t.add(c)
		t.addCredits(c)
	}
	for a := range n.servers {
		t.Memory += a.chunks.taken(a.cfg.ServerMemory)
		t.MemoryLimit += a.cfg.ServerMemory
		t.ReceiveMemory += a.receives.size - a.receives.free.Load()
		t.ReceiveMemoryLimit += a.receives.size
	}
	return t
}

// add adds the statistics of a connection.
func (t *Totals) add(c *Conn) {
	sum(&t.Stats, c.Stats())
	sum(&t.Traffic, c.Traffic())
}

// sum adds each field of more to that of s. All fields are of type uint64.
func sum[T any](s *T, more T) {
	to, from := reflect.ValueOf(s).Elem(), reflect.ValueOf(more)
	for i := range to.NumField() {
		to.Field(i).SetUint(to.Field(i).Uint() + from.Field(i).Uint())
	}
}

// addCredits adds the credits of a connection, for each direction that is in use.
func (t *Totals) addCredits(c *Conn) {
	if c.stats.callsSent.Load() > 0 {
		granted, inUse, waiting := c.Credits()
		t.CreditsGranted += granted
		t.CreditsInUse += inUse
		t.CreditsWaiting += waiting
	}
	if c.stats.callsReceived.Load() > 0 {
		c.mu.Lock()
		posted, active, owed := c.flow.granter.State()
		c.mu.Unlock()
		t.CreditsGiven += posted + active - owed
		t.Serving += active
	}
}
