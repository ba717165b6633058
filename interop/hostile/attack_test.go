package hostile_test

import (
	"context"
	"crypto/tls"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// attack is an attack by a bad host.
type attack struct {
	name   string
	threat string // "RFC 5042 6.4.1", or of RFC 8166
	conns  int    // connections at a time, against a small server

	// over is how it reaches the server. Rows with one name are one attack, over different ways.
	// only says why it has no more ways of the same family, RDMA or RPC over TCP.
	over []way
	only string

	// What each connection does is one of these. When it returns, or the server closes the
	// connection, another connection replaces it.
	verbs  func(p *peer) // on an RDMA connection
	stream func(p *peer) // by the bytes that a connection carries: FPDUs, records or HTTP
	raw    func(p *peer) // on a socket for TCP, or for UDP over SCTP and RoCE

	// flood says that the attack never stops sending, so there is no end to wait for.
	flood bool

	// handlers is how long the server's handlers run that the attack keeps busy. A call that needs
	// a handler waits until some of them end, and again after it has waited for its arguments.
	handlers time.Duration

	// moves is the server's counter that shows the attack to an operator; "" if everything in it is
	// allowed and counts as normal use.
	moves string

	// memory says that it uses as much of the server's memory as it can.
	memory bool

	dialect rpcrdma.Dialect // of the server
	options []string        // further ones of the server, over sockets
}

// limits are the server's limits as far as an attacker knows them.
type limits struct {
	maxMessage int // the largest call in bytes
	maxRecord  int // likewise over TCP
	inFlight   int // calls over TCP that are taken before the first is answered
}

// fileSize is the length of the attackers' file.
const fileSize = 1 << 20

// redial returns how long an attacking host waits before it connects again. It connects at most 100
// times a second, and 1000 times where nothing has to be waited for.
func (a *attack) redial(conns int) time.Duration {
	if a.flood {
		return time.Duration(conns) * time.Millisecond
	}
	return time.Duration(conns) * 10 * time.Millisecond
}

// assault is an attack under way.
type assault struct {
	cancel  context.CancelFunc
	group   sync.WaitGroup
	reached atomic.Int64 // connections that have reached the server, as far as the attack wanted
}

// begin lets hosts attack, each with all connections of the attack, until end.
func (a *attack) begin(ctx context.Context, s *site, w way, hosts, conns int) *assault {
	ctx, cancel := context.WithCancel(ctx)
	r := &assault{cancel: cancel}
	pause := a.redial(conns)
	for _, host := range s.attackers(hosts) {
		for range conns {
			r.group.Go(func() {
				for ctx.Err() == nil {
					newPeer(ctx, s, host, w).run(a, s, &r.reached)
					select {
					case <-ctx.Done():
					case <-time.After(pause):
					}
				}
			})
		}
	}
	return r
}

// run plays one connection.
func (p *peer) run(a *attack, s *site, reached *atomic.Int64) {
	p.reach(a, s)
	if p.conn == nil && p.verbs == nil {
		return
	}
	if p.ok() {
		reached.Add(1)
	}
	stop := context.AfterFunc(p.ctx, p.close)
	defer func() {
		if stop() {
			p.close()
		}
		if p.verbs != nil {
			<-p.verbs.Done()
		}
	}()
	for _, play := range []func(*peer){a.verbs, a.stream, a.raw} {
		if play != nil && p.ok() {
			play(p)
		}
	}
}

// close ends the connection.
func (p *peer) close() {
	if p.verbs != nil {
		p.verbs.Close()
	} else {
		p.conn.Close()
	}
}

// end ends the attack.
func (r *assault) end() {
	r.cancel()
	r.group.Wait()
}

// reset closes a connection without a word, like a host that crashes.
func (p *peer) reset() {
	conn := p.conn
	if below, ok := conn.(*tls.Conn); ok {
		conn = below.NetConn()
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	conn.Close()
	p.err = net.ErrClosed
}

// slowly writes bytes one by one, with a pause after each.
func (p *peer) slowly(pause time.Duration, b []byte) {
	for i := 0; i < len(b) && p.ok(); i++ {
		p.write(b[i])
		p.sleep(pause)
	}
}

// sleep makes a peer slow.
func (p *peer) sleep(d time.Duration) {
	select {
	case <-p.ctx.Done():
		p.err = p.ctx.Err()
	case <-time.After(d):
	}
}

// flood writes the same bytes again and again. It pauses only to let virtual time pass.
func (p *peer) flood(make func() []byte) {
	for p.ok() {
		var b []byte
		for len(b) < 64<<10 {
			b = append(b, make()...)
		}
		p.write(b...)
		p.sleep(time.Millisecond)
	}
}

// attacks has all attacks.
var attacks = slices.Concat(
	onSetup, onIWARP, onSCTP, onRoCE, onMemory, onRPCRDMA, onDraft, onTCP, onTLS,
)
