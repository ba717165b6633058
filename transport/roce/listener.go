package roce

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/internal/fair"
	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/roce/bth"
	"github.com/rpcrdma/go-rpcrdma/transport/roce/cm"
)

// maxPending is how many requests may wait for Accept, shared out by host like Config.MaxConns.
// Further ones are refused.
const maxPending = 128

// Listener accepts RoCE peers.
type Listener struct {
	cfg     *Config
	addr    Addr
	devices []*device
	shares  *fair.Shares
	waiting *fair.Shares  // of maxPending
	ready   chan *request // has room for all pending requests
	over    chan struct{}

	mu     sync.Mutex // guards what follows
	closed bool
}

var _ transport.Listener = (*Listener)(nil)

// Listen listens at "host:port" with the port of a service; port 0 means any. Without a host, or
// with an unspecified address, it listens at all addresses that this host has now. It fails with
// ErrPortTaken if another process has the UDP port of RoCE, with ErrInUse if a Listener of this
// process has the port of the service, and with an error that wraps ErrConfig if cfg is wrong.
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

// maxTries is how many random ports are tried.
const maxTries = 1000

// register takes the port of the service at all devices. It reports false if the port is taken.
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

// Addr returns the Addr listened on.
func (l *Listener) Addr() net.Addr { return l.addr }

// MaxPrivateReply returns 196 bytes for Accept and 148 for Reject.
func (l *Listener) MaxPrivateReply() (accept, reject int) {
	return cm.REPPrivateLen, cm.REJPrivateLen
}

// Accept waits for a peer's request.
func (l *Listener) Accept(ctx context.Context) (transport.Request, error) {
	r, err := transport.AwaitRequest(ctx, l.ready, l.over)
	if err != nil {
		return nil, opError("accept", nil, err)
	}
	l.waiting.Give(peerhost.Of(r.peer), 1)
	return r, nil
}

// Close stops listening. Established connections stay. Requests that Accept has not returned are
// refused.
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

// asked takes a request for a connection. It returns 0, or the reason to refuse it.
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
		atomic.AddUint64(&l.cfg.Counters.stats.Refused, 1)
		l.cfg.faults.Fault(peer, "roce: connection refused", nil, "err", "too many "+what)
		return cm.NoResources
	}
	if !l.waiting.Take(host, 1) {
		return tooMany("waiting requests")
	}
	if !l.shares.Take(host, 1) {
		l.waiting.Give(host, 1)
		return tooMany("connections")
	}
	c := d.newConn(l.cfg, from)
	if c == nil { // the Listener was the last user of the device
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
		l.ready <- r // never blocks: the share of waiting bounds it
	}
	d.mu.Unlock()
	if !listens { // any more
		l.waiting.Give(host, 1)
		c.remove()
		return cm.InvalidService
	}
	return 0
}

// patience is how long a peer that asks again before Accept is told to wait: 8.6 s (IBTA section
// 12.7.30).
const patience = 21

// agreed returns what the request and its answer agree on.
func (r *request) agreed(psn uint32) *agreed {
	cfg := r.c.cfg
	return &agreed{
		local: r.local, peer: r.peer, private: r.upper, mtu: r.req.MTU.Bytes(),
		ird: min(cfg.IRD, int(r.req.InitiatorDepth)), ord: min(cfg.ORD, int(r.req.ResponderResources)),
		rnrRetry: int(r.req.RNRRetry), qp: r.req.QP, psn: r.req.PSN, peerPSN: psn & bth.Mask24,
	}
}
