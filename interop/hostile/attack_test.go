package hostile_test

import (
	"context"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// attack is an attack by a bad host.
type attack struct {
	name   string
	threat string // "RFC 5042 6.4.1", or of RFC 8166
	tcp    bool   // it goes to the server's TCP port, and otherwise to that for RDMA
	conns  int    // connections at a time, against a small server

	// play is what each connection does. When it returns, or the server closes the connection,
	// another connection replaces it.
	play func(p *peer)

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
	cancel context.CancelFunc
	group  sync.WaitGroup
}

// begin lets hosts attack, each with all connections of the attack, until end.
func (a *attack) begin(
	ctx context.Context, s *site, hosts, conns int) *assault {
	ctx, cancel := context.WithCancel(ctx)
	r := &assault{cancel: cancel}
	addr := s.rdma
	if a.tcp {
		addr = s.tcp
	}
	pause := a.redial(conns)
	for _, host := range s.attackers(hosts) {
		for range conns {
			r.group.Go(func() {
				for ctx.Err() == nil {
					if conn, err := s.dialer(host)(ctx, "tcp", addr); err == nil {
						p := newPeer(ctx, conn)
						p.file, p.limits = s.file, s.limits
						p.run(a.play)
					}
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
func (p *peer) run(play func(*peer)) {
	stop := context.AfterFunc(p.ctx, func() { p.conn.Close() })
	defer func() {
		if stop() {
			p.conn.Close()
		}
	}()
	play(p)
}

// end ends the attack.
func (r *assault) end() {
	r.cancel()
	r.group.Wait()
}

// reset closes a connection without a word, like a host that crashes.
func (p *peer) reset() {
	if tcp, ok := p.conn.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	p.conn.Close()
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
var attacks = slices.Concat(onSetup, onIWARP, onMemory, onRPCRDMA, onDraft, onTCP)
