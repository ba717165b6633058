package rpcrdma

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/internal/budget"
	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
	"github.com/rpcrdma/go-rpcrdma/internal/stats"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma/internal/memory"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma/internal/wire"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// Conn is an RPC-over-RDMA connection. It implements oncrpc.Transport. Both ends may call and
// serve; each direction has its own XIDs and credits. Methods may be called concurrently.
type Conn struct {
	link
	receiver  receiver
	responder responder
	caller    caller
	draft     *draft // nil: the dialect is RFC8166

	agreeing    sync.Mutex // held while settings are replaced
	leaveShared func()     // called at the end; nil: what is shared belongs to a Serve
}

var (
	_ oncrpc.Transport      = (*Conn)(nil)
	_ oncrpc.CreditReporter = (*Conn)(nil)
)

// budgets limit the memory of connections. Those of one Serve share them.
type budgets struct {
	chunks   *budget.Budget[incoming]
	receives *memory.Budget // nil: there is no limit
}

// newConn makes a connection of an endpoint that is being prepared. It fails with ErrProviderLimits
// or ErrReceiveMemory. Prepare follows, and then connected or unmade.
//
// In a Dial the address of the peer is not known yet. It does not matter: the connections of Dial
// share no budget.
func newConn(ep transport.Endpoint, cfg *Config, s *shared, b budgets) (*Conn, error) {
	c := new(Conn)
	l := &c.link
	if err := l.open(ep, cfg, s); err != nil {
		return nil, err
	}
	free := freeReceives
	if l.isDraft() {
		free = freeReceivesRead
	}
	host := peerhost.Of(l.info.RemoteAddr)
	rs := &c.responder
	rs.l, rs.conn, rs.caller = l, c, &c.caller
	if l.isDraft() {
		c.draft = newDraft(l, &c.caller, rs)
		rs.pinned, rs.ambiguous = &c.draft.pinned, &c.draft.ambiguous
	}
	err := l.receives.Open(memory.ReceivesConfig{
		Mutex: &l.mu, Endpoint: ep, Pool: s.Pool, Budget: b.receives, Host: host,
		Size: l.cfg.receiveSize(), Align: l.cfg.Align, Free: free,
		Fail: l.fail, HeldUp: func() { atomic.AddUint64(&l.stats.HeldUp, 1) },
		Recall: rs.pinned.recall,
	})
	if err != nil {
		return nil, err
	}
	c.caller.open(l)
	rs.stalls.timeout, rs.stalls.ticked = l.cfg.PeerTimeout, rs.ticked
	rs.stalls.progress, _ = transport.As[transport.ProgressReporter](ep)
	b.chunks.Join(&rs.share, host, l.cfg.ConnMemory)
	rs.share.Recalls(rs.pinned.recall)
	c.receiver = receiver{l, &c.caller, rs, c.draft}
	return c, nil
}

// The number of receives of each connection that do not count in the budget: one for a call, and
// one for the next call, which its reply allows. If replies are read, one more, because two credits
// are granted while an RDMA_DONE is to come (credits.Granter). So a peer that makes one call at a
// time never waits for others.
const (
	freeReceives     = 2
	freeReceivesRead = 3
)

// prepare posts the receive for the peer's first call (draft section 6.1), and returns the private
// data for the peer.
func (c *Conn) prepare() (private []byte, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err = c.receives.Post(c.granter.Start())
	return c.cfg.private(c.invalid != 0), err
}

// connected takes up what the two ends have agreed on.
func (c *Conn) connected() {
	c.info = c.ep.Info()
	if !c.cfg.NoPrivateData {
		c.peer = wire.ParsePrivate(c.info.PrivateData)
	} else {
		c.peer = wire.ParsePrivate(nil)
	}
	c.settings.Store(c.initial())
	c.gate.Set(c.info.ORD)
	c.cfg.Counters.began(c, c.info.Provider)
}

// unmade gives everything back, because the endpoint ends without a connection.
func (c *Conn) unmade() {
	<-c.ep.Done()
	c.mu.Lock()
	c.over = true
	c.receives.Close()
	c.responder.stalls.stop()
	c.mu.Unlock()
	c.cancel()
	_, next := c.responder.share.Leave()
	proceed(next)
	if c.leaveShared != nil {
		c.leaveShared()
	}
}

// LocalAddr returns this end's address.
func (c *Conn) LocalAddr() net.Addr { return c.info.LocalAddr }

// RemoteAddr returns the peer's address.
func (c *Conn) RemoteAddr() net.Addr { return c.info.RemoteAddr }

// Info describes the provider's connection.
func (c *Conn) Info() transport.Info { return c.info }

// Endpoint returns the provider's endpoint, for functions of its package such as iwarp.SetupOf. Do
// not post to it.
func (c *Conn) Endpoint() transport.Endpoint { return c.ep }

// Inline returns the largest calls sent inline, and the largest replies expected inline, in bytes
// with headers.
func (c *Conn) Inline() (send, recv int) {
	s := c.settings.Load()
	return s.MaxSend, s.MaxRecv
}

// Credits returns the peer's most recent grant, the credits in use, and the number of calls that
// wait for a credit, or for receives (Config.LimitBackwardCalls). It implements
// oncrpc.CreditReporter. A cancelled call uses its credit until the peer has answered it. An
// RDMA_DONE uses one until the peer is known to have taken it.
func (c *Conn) Credits() (grant, inUse, waiting int) {
	grant, calls, dones, waiting := c.caller.window.State()
	return grant, calls + dones, waiting
}

// Done is closed when the connection has ended.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Err says why the connection ended, or is about to end. Before, it returns nil.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Close ends the connection. It does not wait: Done is closed when everything has ended.
func (c *Conn) Close() error { return c.ep.Close() }

// Serve answers the peer's calls with s from now on. Before, they are answered PROG_UNAVAIL.
func (c *Conn) Serve(s *oncrpc.Server) {
	c.responder.serve(oncrpc.DispatcherOf(s).For(c.RemoteAddr()))
}

// addTo adds the statistics of the connection, and the credits of each direction that is in use.
func (c *Conn) addTo(t *Totals) {
	stats.Add(&t.Stats, &c.stats)
	stats.Add(&t.Traffic, &c.traffic)
	if atomic.LoadUint64(&c.stats.CallsSent) > 0 {
		granted, inUse, waiting := c.Credits()
		t.CreditsGranted += granted
		t.CreditsInUse += inUse
		t.CreditsWaiting += waiting
	}
	if atomic.LoadUint64(&c.stats.CallsReceived) > 0 {
		c.mu.Lock()
		posted, active, owed := c.granter.State()
		c.mu.Unlock()
		t.CreditsGiven += posted + active - owed
		t.Serving += active
	}
}

// watch waits for the end of the endpoint, and then ends what is under way. Only then does the
// provider no longer touch memory.
func (c *Conn) watch() {
	<-c.ep.Done()
	c.mu.Lock()
	inOrder := c.err == nil && errors.Is(c.ep.Err(), net.ErrClosed)
	if c.err == nil {
		c.err = c.endError(c.reason())
	}
	err := c.err
	c.over = true
	c.receives.Close()
	pending := c.caller.pending
	c.caller.pending = callTable{}
	rs := &c.responder
	leave := rs.leave
	rs.stalls.stop()
	var unread, withheld []*incoming
	if d := c.draft; d != nil {
		unread = append(d.pinned.unread(), d.ambiguous.close()...)
		withheld = d.pinned.close()
	}
	atEnd := c.atEnd
	c.atEnd = nil
	c.mu.Unlock()

	// What follows is deferred, because a handler or a Releaser may end this goroutine.
	defer func() {
		end := EndClosed
		if !inOrder {
			end = endOf(err)
		}
		c.cfg.Counters.over(c, c.info.Provider, end, &c.stats, &c.traffic)
		if leave != nil {
			leave()
		}
		if c.leaveShared != nil {
			c.leaveShared()
		}
		close(c.done)
	}()
	defer func() {
		gone, next := rs.share.Leave()
		defer proceed(next)
		for _, in := range append(gone, withheld...) {
			in.Drop()
		}
		for _, in := range unread {
			in.finish()
		}
	}()
	defer func() {
		for k := range pending.all {
			k.deliver(err)
		}
	}()
	c.cancel()
	c.caller.window.Close(err)
	c.queue.Close()
	c.gate.Close()
	for _, f := range atEnd {
		f()
	}
}
