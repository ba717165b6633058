package roce

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/internal/fair"
	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/roce/bth"
	"github.com/rpcrdma/go-rpcrdma/transport/roce/cm"
)

// maxPending is how many requests may wait for Accept, shared out by host as Config.MaxConns is.
// Beyond it they are refused.
const maxPending = 128

// Listener accepts RoCE peers.
type Listener struct {
	cfg     *Config
	addr    Addr
	devices []*device
	shares  *fair.Shares
	waiting *fair.Shares  // of maxPending
	ready   chan *request // has room for all that are pending
	over    chan struct{}

	mu     sync.Mutex // guards what follows
	closed bool
}

var _ transport.Listener = (*Listener)(nil)

// Listen listens at "host:port", where the port is that of a service: 0 makes it any. Without a
// host, or with one of all zeros, it listens at all addresses that this host has now. It fails with
// ErrPortTaken where another process has the UDP port of RoCE, and with ErrInUse where a Listener
// of this one has the port of the service.
func Listen(ctx context.Context, addr string, cfg Config) (*Listener, error) {
	l, err := cfg.listen(ctx, addr)
	if err != nil {
		return nil, opError("listen", nil, err)
	}
	return l, nil
}

func (c Config) listen(ctx context.Context, addr string) (*Listener, error) {
	cfg, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	ips, port, err := resolve(ctx, addr)
	if err != nil {
		return nil, err
	}
	l := &Listener{
		cfg: cfg, shares: fair.New(int64(cfg.MaxConns)), waiting: fair.New(maxPending),
		ready: make(chan *request, maxPending),
		over:  make(chan struct{}), addr: Addr{netip.IPv6Unspecified(), port},
	}
	if len(ips) > 0 {
		l.addr.IP = ips[0]
		ips = ips[:1]
	}
	if l.addr.IP.IsUnspecified() {
		if ips, err = cfg.on().local(); err != nil {
			return nil, err
		}
	}
	for _, ip := range ips {
		d, err := cfg.on().acquire(ip, cfg)
		if err != nil {
			l.release()
			return nil, err
		}
		l.devices = append(l.devices, d)
	}
	if len(l.devices) == 0 {
		return nil, errors.New("this host has no address")
	}
	for tries := 0; ; tries++ {
		if port == 0 {
			l.addr.Port = uint16(1024 + random32()%(1<<16-1024))
		}
		if l.register() {
			return l, nil
		}
		if port != 0 || tries == maxTries {
			l.release()
			return nil, ErrInUse
		}
	}
}

// maxTries is how many ports are tried where any will do.
const maxTries = 1000

// register takes the port of the service at all devices, or reports that it is taken.
func (l *Listener) register() bool {
	for i, d := range l.devices {
		d.mu.Lock()
		taken := d.services[l.addr.Port] != nil
		if !taken {
			d.services[l.addr.Port] = l
		}
		d.mu.Unlock()
		if taken {
			l.unregister(l.devices[:i])
			return false
		}
	}
	return true
}

func (l *Listener) unregister(devices []*device) {
	for _, d := range devices {
		d.mu.Lock()
		delete(d.services, l.addr.Port)
		d.mu.Unlock()
	}
}

func (l *Listener) release() {
	for _, d := range l.devices {
		d.release()
	}
}

// Addr returns an Addr.
func (l *Listener) Addr() net.Addr { return l.addr }

// MaxPrivateReply is 196 bytes for Accept and 148 for Reject.
func (l *Listener) MaxPrivateReply() (accept, reject int) {
	return cm.REPPrivateLen, cm.REJPrivateLen
}

// Accept waits for a peer that asks for a connection.
func (l *Listener) Accept(ctx context.Context) (transport.Request, error) {
	if err := ctx.Err(); err != nil {
		return nil, opError("accept", nil, err)
	}
	select {
	case <-l.over:
		return nil, opError("accept", nil, net.ErrClosed)
	default:
	}
	select {
	case r := <-l.ready:
		l.waiting.Give(peerhost.Of(r.peer), 1)
		return r, nil
	case <-l.over:
		return nil, opError("accept", nil, net.ErrClosed)
	case <-ctx.Done():
		return nil, opError("accept", nil, ctx.Err())
	}
}

// Close ends listening. Connections stay, except for those that Accept has not returned.
func (l *Listener) Close() error {
	l.mu.Lock()
	first := !l.closed
	l.closed = true
	l.mu.Unlock()
	if !first {
		return nil
	}
	l.unregister(l.devices)
	close(l.over)
	for {
		select {
		case r := <-l.ready:
			l.waiting.Give(peerhost.Of(r.peer), 1)
			r.refuse(cm.InvalidService, nil)
			continue
		default:
		}
		break
	}
	l.release()
	return nil
}

// asked takes a request for a connection, or returns why it is refused.
func (l *Listener) asked(d *device, m *cm.REQ, transaction uint64, from netip.Addr) cm.Reason {
	ip, upper, err := cm.ParseIP(m.Private)
	switch mtu := m.MTU.Bytes(); {
	case err != nil:
		return cm.Unsupported
	case m.Transport != 0:
		return cm.InvalidTransport
	case m.QP <= cm.QP:
		return cm.NoQP
	case mtu == 0 || mtu > min(l.cfg.MTU, d.mtu):
		return cm.InvalidMTU
	}
	peer := Addr{from, ip.Port}
	if l.cfg.Admit != nil && !l.cfg.Admit(from) {
		return cm.ConsumerDefined
	}
	host := peerhost.Of(peer)
	tooMany := func(what string) cm.Reason {
		l.cfg.Counters.refused.Add(1)
		l.cfg.faults.Fault(peer, "roce: no connection", nil, "err", "too many "+what)
		return cm.NoResources
	}
	if !l.waiting.Take(host, 1) {
		return tooMany("requests that wait")
	}
	if !l.shares.Take(host, 1) {
		l.waiting.Give(host, 1)
		return tooMany("connections")
	}
	c := d.newConn(l.cfg, from)
	if c == nil { // the Listener was the last that used the device
		l.shares.Give(host, 1)
		l.waiting.Give(host, 1)
		return cm.InvalidService
	}
	c.asked, c.transaction = true, transaction
	c.free = func() { l.shares.Give(host, 1) }
	r := &request{
		c: c, req: m, local: Addr{d.local.Addr(), l.addr.Port}, peer: peer, upper: upper,
	}
	d.mu.Lock()
	c.known = known{peerID: m.CommID, peerQP: m.QP, again: &cm.MRA{
		Local: c.id, Remote: m.CommID, About: cm.AboutREQ, ServiceTimeout: patience,
	}}
	listens := d.services[l.addr.Port] == l
	if listens {
		d.asked[question{from, m.CommID}] = c
		l.ready <- r // there is room for all that have their share of waiting
	}
	d.mu.Unlock()
	if !listens { // any more
		l.waiting.Give(host, 1)
		c.remove()
		return cm.InvalidService
	}
	return 0
}

// patience is how long a peer is asked to wait that asks again before Accept: 8.6 s (IBTA section
// 12.7.30).
const patience = 21

// agreed is what a request and its answer come to.
func (r *request) agreed(psn uint32) *agreed {
	cfg := r.c.cfg
	return &agreed{
		local: r.local, peer: r.peer, private: r.upper, mtu: r.req.MTU.Bytes(),
		ird: min(cfg.IRD, int(r.req.InitiatorDepth)), ord: min(cfg.ORD, int(r.req.ResponderResources)),
		rnrRetry: int(r.req.RNRRetry), qp: r.req.QP, psn: r.req.PSN, peerPSN: psn & bth.Mask24,
	}
}
