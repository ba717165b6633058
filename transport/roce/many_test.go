package roce_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/internal/rocerig"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/roce"
)

// manyShare is the part of TestManyConnections that is run.
var manyShare = 1

// TestManyConnections makes and ends a thousand connections, ended by either end or by both at
// once. They leave nothing.
func TestManyConnections(t *testing.T) {
	const (
		dialerEnds   = 1
		listenerEnds = 2 // 0: both
	)
	ip := rocerig.Addr(t)
	at := netip.AddrPortFrom(ip, 20049).String()
	cfg := roce.Config{Logger: quiet, Local: ip, SendDepth: 4, RecvDepth: 4}
	for range 2 {
		l, err := roce.Listen(t.Context(), at, cfg)
		if err != nil {
			t.Fatal(err)
		}
		var group sync.WaitGroup
		group.Go(func() {
			for {
				req, err := l.Accept(context.Background())
				if err != nil {
					return
				}
				group.Go(func() {
					ep, err := req.Accept(context.Background(), nil)
					if err != nil {
						t.Error(err)
						return
					}
					ep.Start(make(messages, 1))
					if ep.Info().PrivateData[0] != dialerEnds {
						ep.Close()
					}
					<-ep.Done()
				})
			}
		})
		const each = 10
		for range 1000 / each / manyShare {
			var dials sync.WaitGroup
			for i := range each {
				dials.Go(func() {
					ep, err := roce.Dialer{Config: cfg}.Dial(t.Context(), at,
						transport.Private([]byte{byte(i % 3)}))
					if err != nil {
						t.Error(err)
						return
					}
					ep.Start(make(messages, 1))
					if i%3 != listenerEnds {
						ep.Close()
					}
					<-ep.Done()
				})
			}
			dials.Wait()
		}
		hang.Until(t, "something is left", func() bool {
			conns, pairs, asked, ports := roce.Left(ip)
			return conns+pairs+asked+ports == 0
		})
		l.Close()
		group.Wait()
	}
	portIsFree(t, ip)
}

// portIsFree checks that another socket can bind the port.
func portIsFree(t *testing.T, ip netip.Addr) {
	t.Helper()
	hang.Until(t, "the device is left", func() bool { return !roce.SystemDevice(ip) })
	c, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(ip, roce.UDPPort)))
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}

// TestCloseBoth closes both ends at once.
func TestCloseBoth(t *testing.T) {
	r := newRig(t, roce.Config{})
	accepted := r.accept(nil)
	cfg := r.hub.On(netip.MustParseAddr("192.0.2.10"), roce.Config{Logger: quiet, MTU: mtu})
	a, err := roce.Dialer{Config: cfg}.Dial(t.Context(), "192.0.2.1:20049", nil)
	if err != nil {
		t.Fatal(err)
	}
	b := wait(t, accepted)
	var both sync.WaitGroup
	both.Go(func() { a.Close() })
	both.Go(func() { b.Close() })
	both.Wait()
	wait(t, a.Done())
	wait(t, b.Done())
	for _, ep := range []transport.Endpoint{a, b} {
		err := ep.Err()
		if !errors.Is(err, net.ErrClosed) && !errors.Is(err, transport.ErrClosedByPeer) {
			t.Error(err)
		}
	}
}

// TestUnansweredEnd: a peer that is gone gets a few notices of the end, and is then forgotten.
func TestUnansweredEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, roce.Config{})
		p, ep := r.asked()
		ep.Close()
		wait(t, ep.Done())
		hang.Until(t, "the connection is left", func() bool {
			conns, _, _, _ := r.hub.Left(server)
			return conns == 1
		})
		p.silentBut(4)
	})
}

// silentBut checks that that many packets have been sent here, when a fifth would have come.
func (p *played) silentBut(n int) {
	p.t.Helper()
	for range n {
		p.next()
	}
	p.silent()
}

// TestAcceptUnanswered has a peer that asks, and never answers the REP.
func TestAcceptUnanswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, roce.Config{SetupTimeout: 50 * time.Millisecond})
		p := r.host()
		p.mad(p.req())
		req, err := r.l.Accept(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := req.Accept(t.Context(), nil); !errors.Is(err, roce.ErrPeerTimeout) {
			t.Errorf("got %v", err)
		}
		if s := r.counters.Stats(); s.SetupFailures != 1 {
			t.Errorf("%d failures are counted", s.SetupFailures)
		}
	})
}
