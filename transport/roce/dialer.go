package roce

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/roce/cm"
)

// Dialer connects to RoCE peers. The zero value is ready to use.
type Dialer struct {
	Config Config
}

var _ transport.Dialer = Dialer{}

// maxPrivateRequest is what rdma_cm leaves of the private data of a REQ (IBTA annex A11).
const maxPrivateRequest = cm.REQPrivateLen - cm.IPLen

// MaxPrivateData returns 56.
func (Dialer) MaxPrivateData() int { return maxPrivateRequest }

// Dial connects to addr, "host:port", and sends the private data to the peer, padded with zeros. If
// the host has several addresses, it tries one after the other, with what prepare has prepared
// before the first. It fails with
//
//   - ErrPortTaken, if this process cannot bind the UDP port of RoCE;
//   - ErrRefused, if nobody listens at the port of the service;
//   - ErrNoRoCE, an ErrRefused, if nobody has the UDP port;
//   - ErrPeerTimeout, if nobody answers;
//   - an error that wraps a *transport.RejectError, if the peer refuses.
func (d Dialer) Dial(ctx context.Context, addr string, prepare transport.Preparation) (
	transport.Endpoint, error) {
	cfg, err := d.Config.withDefaults()
	if err != nil {
		return nil, opError("dial", nil, err)
	}
	if err := ctx.Err(); err != nil {
		return nil, opError("dial", nil, err)
	}
	ips, port, err := resolve(ctx, addr)
	if err != nil {
		return nil, opError("dial", nil, err)
	}
	if len(ips) == 0 {
		ips = []netip.Addr{usualLoopback}
	}
	e := newEndpoint(cfg, transport.Info{})
	err = prepare.Connect("dial", e, func(private []byte) error {
		return e.dialOne(ctx, ips, port, private)
	}, e.discard)
	if err != nil {
		return nil, err
	}
	return e, nil
}

// dialOne connects the endpoint to one of the addresses.
func (e *endpoint) dialOne(ctx context.Context, ips []netip.Addr, port uint16, private []byte) (
	err error) {
	if len(private) > maxPrivateRequest {
		return transport.ErrPrivateData
	}
	for _, ip := range ips {
		e.info.RemoteAddr = Addr{ip, port}
		if err = e.dial(ctx, ip, port, private); err == nil || ctx.Err() != nil {
			break
		}
	}
	return err
}

// dial connects the endpoint to an address. After an error it still has no connection.
func (e *endpoint) dial(ctx context.Context, ip netip.Addr, port uint16, private []byte) error {
	c := e.cfg
	dev, mtu, err := c.device(ip)
	if err != nil {
		return err
	}
	defer dev.release()
	n := dev.newConn(c, ip)
	n.port = dev.drawPort()
	mtu = min(mtu, dev.mtu, c.MTU)
	psn := random32() & (1<<24 - 1)
	src := cm.IP{Port: n.port, Src: dev.local.Addr(), Dst: ip}
	req := &cm.REQ{
		CommID: n.id, ServiceID: cm.ServiceID(port), CAGUID: dev.guid, QP: n.qp,
		ResponderResources: uint8(c.IRD), InitiatorDepth: uint8(c.ORD),
		RemoteTimeout: cmTimeout, LocalTimeout: cmTimeout, PSN: psn,
		RetryCount: retryCount, RNRRetry: rnrRetry, MaxCMRetries: maxCMRetries, AckTimeout: ackTimeout,
		PKey: 0xFFFF, MTU: cm.MTUOf(mtu), LocalLID: noLID, RemoteLID: noLID,
		LocalGID: dev.local.Addr(), RemoteGID: ip, HopLimit: hopLimit,
		Private: append(src.Append(nil), private...),
	}
	rep, err := n.ask(ctx, req)
	if err != nil {
		n.remove()
		atomic.AddUint64(&c.Counters.stats.SetupFailures, 1)
		return err
	}
	e.connect(n, &agreed{
		local: Addr{dev.local.Addr(), n.port}, peer: Addr{ip, port}, private: rep.Private, mtu: mtu,
		ird: min(c.IRD, int(rep.InitiatorDepth)), ord: min(c.ORD, int(rep.ResponderResources)),
		rnrRetry: int(rep.RNRRetry), qp: rep.QP, psn: rep.PSN, peerPSN: psn,
	})
	rtu := &cm.RTU{Local: n.id, Remote: rep.Local}
	n.know(known{peerID: rep.Local, peerQP: rep.QP, ep: e, again: rtu})
	n.established()
	n.send(rtu)
	dev.schedule(e) // to set its timer
	dev.flush()
	atomic.AddUint64(&c.Counters.stats.Connections, 1)
	return nil
}

// Values for the REQ and REP of this end (IBTA sections 12.6.5, 12.6.8 and 12.7).
const (
	cmTimeout    = 20 // 4.3 s, as with Linux
	maxCMRetries = 15
	retryCount   = 7
	rnrRetry     = 7  // no limit: messages may have to wait for memory
	ackTimeout   = 18 // 1.1 s, eight times
	ackDelay     = 15
	noLID        = 0xFFFF
	hopLimit     = 64
)

// ask sends a REQ until it is answered. If the first two are not, it also finds out whether the UDP
// port is closed.
func (n *conn) ask(ctx context.Context, req *cm.REQ) (*cm.REP, error) {
	deadline := time.NewTimer(n.cfg.SetupTimeout)
	defer deadline.Stop()
	n.send(req)
	wait := firstRetry
	retry := time.NewTimer(wait)
	defer retry.Stop()
	asking, cancel := context.WithCancel(ctx)
	closed := make(chan struct{}, 1) // the peer's host reports a closed port
	var probe sync.WaitGroup
	defer probe.Wait()
	defer cancel()
	heard := false
	for sent := 1; ; {
		select {
		case <-retry.C:
			if sent == 2 && !heard {
				probe.Go(func() {
					if n.dev.network.portClosed(asking, n.dev.local.Addr(), n.peer) {
						closed <- struct{}{}
					}
				})
			}
			sent++
			n.send(req)
			wait = min(2*wait, mostRetry)
			retry.Reset(wait)
		case m := <-n.events:
			switch m := m.(type) {
			case *cm.REP:
				if m.QP <= cm.QP {
					n.send(&cm.REJ{Local: n.id, Remote: m.Local, About: cm.AboutREP, Reason: cm.NoQP})
					return nil, fmt.Errorf("%w: queue pair %d", ErrProtocol, m.QP)
				}
				return m, nil
			case *cm.REJ:
				atomic.AddUint64(&n.cfg.Counters.stats.Rejected, 1)
				return nil, rejection(m)
			case *cm.MRA:
				heard = true
				retry.Reset(serviceTime(m.ServiceTimeout))
			}
		case <-closed:
			return nil, ErrNoRoCE
		case <-ctx.Done():
			n.reject(cm.AboutREQ, cm.Timeout, nil)
			return nil, ctx.Err()
		case <-deadline.C:
			n.reject(cm.AboutREQ, cm.Timeout, nil)
			return nil, ErrPeerTimeout
		}
	}
}

// serviceTime decodes a time code of five bits (IBTA section 12.7.30).
func serviceTime(code uint8) time.Duration { return 4096 * time.Nanosecond << code }

// rejection returns the error that a REJ stands for.
func rejection(m *cm.REJ) error {
	switch m.Reason {
	case cm.InvalidService:
		return ErrRefused
	case cm.ConsumerDefined:
		return &transport.RejectError{PrivateData: m.Private}
	}
	return fmt.Errorf("%w: %v", &transport.RejectError{PrivateData: m.Private}, m.Reason)
}

// device returns the device for reaching a peer, and the path MTU.
func (c *Config) device(peer netip.Addr) (*device, int, error) {
	n := c.on()
	local, mtu, err := n.route(peer)
	if c.Local.IsValid() {
		local = c.Local.Unmap()
	}
	if err != nil {
		return nil, 0, err
	}
	own := local.IsLoopback() || local == peer // this host reaches itself from any address
	if c.Local.IsValid() || !local.Is4() || !own {
		d, err := n.acquire(local, c)
		return d, mtu, err
	}
	d, err := n.acquireOwn(local, c)
	return d, mtu, err
}

// loopbackTries is how many loopback addresses are tried.
const loopbackTries = 20

// usualLoopback is the address by which rules of servers name the processes of their own host.
var usualLoopback = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// acquireOwn returns a device for reaching this host. It is at the local address or, if another
// process has the port there, at 127.0.0.1, or else at a random loopback address. That one serves
// from then on: to a server, a caller that connects again from another address is another caller,
// whose repeated calls it executes again.
func (n *network) acquireOwn(local netip.Addr, c *Config) (*device, error) {
	n.choosing.Lock()
	defer n.choosing.Unlock()
	if n.loopback.IsValid() {
		if d, err := n.acquire(n.loopback, c); err == nil {
			return d, nil
		}
	}
	d, err := n.acquire(local, c)
	if !errors.Is(err, ErrPortTaken) {
		return d, err
	}
	a := usualLoopback
	for range loopbackTries {
		if d, aerr := n.acquire(a, c); aerr == nil {
			n.loopback = a
			return d, nil
		}
		r := rand.Uint32()
		a = netip.AddrFrom4([4]byte{127, byte(1 + r%254), byte(r >> 8), byte(1 + r>>16%254)})
	}
	return nil, err
}

// drawPort returns a random port that no other connection of the device has drawn.
func (d *device) drawPort() uint16 {
	const first = 49152 // RFC 6335 section 6: the dynamic ports
	d.mu.Lock()
	defer d.mu.Unlock()
	for {
		p := first + uint16(random32()%(1<<16-first))
		if !d.ports[p] {
			d.ports[p] = true
			return p
		}
	}
}
