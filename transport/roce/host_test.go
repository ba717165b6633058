package roce

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/fair"
	"github.com/rpcrdma/go-rpcrdma/transport/roce/bth"
	"github.com/rpcrdma/go-rpcrdma/transport/roce/cm"
)

// uncrowded is how long goroutines wait for a processor in tests: not at all.
func uncrowded() time.Duration { return 0 }

// crowded returns how long that is while others are busy. At the same time once more, they are not.
func crowded() func() time.Duration {
	var last time.Time
	return func() time.Duration {
		if now := time.Now(); now != last {
			last = now
			return time.Millisecond
		}
		return 0
	}
}

// stranger is a host without a connection.
var stranger = netip.MustParseAddr("192.0.2.77")

// shared is a host with a peer and a stranger.
type shared struct {
	*played
	qp, psn, asked uint32
	counters       Counters
}

func newShared(t *testing.T, wait func() time.Duration) *shared {
	p := &shared{played: newPlayed(t)}
	p.network.processors = fair.NewProcessors(wait)
	ep, _, rep := p.up(p.listen(Config{KeepAlive: -1, Counters: &p.counters}))
	p.qp, p.psn = rep.QP, rep.PSN
	t.Cleanup(func() {
		if err := ep.Err(); err != nil {
			t.Errorf("ended with %v", err)
		}
		ep.Close()
		time.Sleep(time.Minute)
	})
	return p
}

// writes has the peer send requests.
func (p *shared) writes(n int) {
	for range n {
		p.packet(theirIP, &bth.Packet{
			Opcode: bth.WriteOnly, QP: p.qp, PSN: p.psn & bth.Mask24, AckReq: true,
		}, false)
		p.psn++
	}
}

// asks has the stranger ask for the end of connections that it has not got. They are numbered.
func (p *shared) asks(n int) {
	for range n {
		p.asked++
		p.says(stranger, &cm.DREQ{Local: p.asked, Remote: 1, QP: 3}, 1)
	}
}

// answered counts the answers to each since the last call. Those to the stranger must be in order.
func (p *shared) answered() (toPeer, toStranger int) {
	p.t.Helper()
	var last uint32
	for _, h := range p.heard() {
		if h.QP != cm.QP {
			toPeer++
			continue
		}
		m, _, err := cm.Parse(h.Payload)
		drep, ok := m.(*cm.DREP)
		if err != nil || !ok || last > 0 && drep.Remote != last+1 {
			p.t.Errorf("got %+v behind %d, error %v", m, last, err)
			continue
		}
		last = drep.Remote
		toStranger++
	}
	return toPeer, toStranger
}

// want checks the answers since the last call.
func (p *shared) want(when string, toPeer, toStranger int) {
	p.t.Helper()
	if a, b := p.answered(); a != toPeer || b != toStranger {
		p.t.Errorf("%s: %d and %d packets are answered, want %d and %d", when, a, b, toPeer, toStranger)
	}
}

// TestHeldUp: while processors are crowded, the packets of a host that sends more than its share
// wait, and are taken in order when it may go on. Those of others are taken at once. What there is
// no room for is dropped.
func TestHeldUp(t *testing.T) {
	const wait = 15 * time.Millisecond // until the processors are looked at again
	for _, tt := range []struct {
		name       string
		busy, idle func(*shared, int)
	}{
		{"a stranger", (*shared).asks, (*shared).writes},
		{"the peer", (*shared).writes, (*shared).asks},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newShared(t, crowded())
				want := func(when string, busy, idle int) {
					t.Helper()
					if tt.name == "the peer" {
						p.want(when, busy, idle)
					} else {
						p.want(when, idle, busy)
					}
				}
				time.Sleep(time.Second)
				tt.idle(p, 1)
				tt.busy(p, 50)
				time.Sleep(wait)
				tt.busy(p, 1)
				want("not yet", 51, 1)
				for range 3 {
					tt.busy(p, 20)
					tt.idle(p, 1)
					want("held up", 0, 1)
				}
				time.Sleep(time.Second)
				synctest.Wait()
				if a, b := p.answered(); tt.name == "a stranger" && b != 60 ||
					tt.name == "the peer" && a == 0 { // several requests have one acknowledgement
					t.Errorf("at last %d and %d packets are answered", a, b)
				}
				tt.busy(p, 1)
				want("after", 1, 0)
				if s := p.counters.Stats(); s.Dropped+s.OutOfSequence > 0 {
					t.Errorf("counted %+v", s)
				}
			})
		})
	}
}

// TestHeldUpRoom: a host's packets that wait have a bound.
func TestHeldUpRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newShared(t, crowded())
		time.Sleep(time.Second)
		p.writes(1)
		p.asks(50)
		time.Sleep(15 * time.Millisecond)
		p.asks(1)
		big := func(from netip.Addr, n int) {
			for range n {
				p.in <- sentDatagram{from: netip.AddrPortFrom(from, 1), p: make([]byte, 60000)}
				synctest.Wait()
			}
		}
		const half = maxWaiting / 2 / (60000 + entryLen)
		big(stranger, half+10)
		if n := p.counters.Stats().Dropped; n != 10 {
			t.Errorf("%d are dropped, want 10", n)
		}
		big(netip.MustParseAddr("192.0.2.78"), 3) // there is room for other strangers
		if n := p.counters.Stats().Dropped; n != 10 {
			t.Errorf("%d are dropped, want 10", n)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if s := p.counters.Stats(); s.BadPackets != half+3 {
			t.Errorf("%d are taken at last, want %d", s.BadPackets, half+3)
		}
	})
}

// TestNotHeldUp: nothing waits while processors are not crowded, or if only one host sends.
func TestNotHeldUp(t *testing.T) {
	for name, tt := range map[string]struct {
		wait         func() time.Duration
		peer, others int // packets
	}{
		"not crowded": {uncrowded, 1, 20}, "the peer alone": {crowded(), 20, 0},
		"a stranger alone": {crowded(), 0, 20},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newShared(t, tt.wait)
				time.Sleep(time.Second)
				synctest.Wait()
				p.heard()
				for range 5 {
					time.Sleep(10 * time.Millisecond)
					p.writes(tt.peer)
					p.asks(tt.others)
					p.want("at once", tt.peer, tt.others)
				}
			})
		})
	}
}

// TestHosts: a host counts as one of its own while it has an established connection.
func TestHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlayed(t)
		p.network.processors = fair.NewProcessors(uncrowded)
		ep, m, rep := p.up(p.listen(Config{KeepAlive: -1}))
		d := p.network.devices[ourIP]
		if h := d.host(theirIP); h == &d.strangers || h.reader == (fair.Reader{}) {
			t.Errorf("the peer is %+v", h)
		}
		if h := d.host(stranger); h != &d.strangers {
			t.Errorf("a stranger is %+v", h)
		}
		p.says(theirIP, &cm.DREQ{Local: m.CommID, Remote: rep.Local, QP: rep.QP}, 1)
		<-ep.Done()
		time.Sleep(time.Minute)
		synctest.Wait()
		if h := d.host(theirIP); h != &d.strangers || len(d.hosts) > 0 {
			t.Errorf("afterwards the peer is %+v", h)
		}
	})
}
