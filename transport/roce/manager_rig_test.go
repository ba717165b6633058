package roce

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/roce/bth"
	"github.com/rpcrdma/go-rpcrdma/transport/roce/cm"
)

// sentDatagram is a datagram on its way.
type sentDatagram struct {
	from   netip.AddrPort
	p      []byte
	marked bool
}

// played is a host with a device, in virtual time. The test plays all of its peers by hand.
type played struct {
	t       *testing.T
	network *network
	in      chan sentDatagram
	out     chan message
	done    chan struct{}
	id      uint16 // of the last IPv4 packet
}

var (
	ourIP   = netip.MustParseAddr("192.0.2.2")
	theirIP = netip.MustParseAddr("192.0.2.1")
)

func newPlayed(t *testing.T) *played {
	p := &played{
		t: t, in: make(chan sentDatagram, 100), out: make(chan message, 1000), done: make(chan struct{}),
	}
	p.network = &network{
		open:  func(netip.Addr) (socket, int, error) { return p, 1024, nil },
		route: func(netip.Addr) (netip.Addr, int, error) { return ourIP, 1024, nil },
		local: func() ([]netip.Addr, error) { return []netip.Addr{ourIP}, nil },

		portClosed: func(context.Context, netip.Addr, netip.Addr) bool { return false },
	}
	return p
}

func (p *played) receive(b []byte) (n, size int, from netip.AddrPort, marked bool, err error) {
	select {
	case d := <-p.in:
		n = copy(b, d.p)
		return n, n, d.from, d.marked, nil
	case <-p.done:
		return 0, 0, from, false, net.ErrClosed
	}
}

func (p *played) send(all []message, _ bool) int {
	for _, m := range all {
		m.p = append([]byte(nil), m.p...)
		p.out <- m
	}
	return len(all)
}

func (p *played) segments() bool { return false }
func (p *played) close()         { close(p.done) }

// config returns c for connections of this host.
func (p *played) config(c Config) Config {
	c.network, c.Local, c.Logger = p.network, ourIP, slog.New(slog.DiscardHandler)
	return c
}

// packet receives a packet of the default partition.
func (p *played) packet(from netip.Addr, h *bth.Packet, marked bool) {
	p.t.Helper()
	p.id++
	h.PKey = bth.DefaultPKey
	src := netip.AddrPortFrom(from, 50000)
	path := bth.NewPath(src, netip.AddrPortFrom(ourIP, UDPPort))
	b := append(h.AppendHeaders(nil, len(h.Payload)), h.Payload...)
	b = append(b, make([]byte, bth.Pad(len(h.Payload)))...)
	p.in <- sentDatagram{src, path.AppendSum(b, 0, p.id), marked}
	synctest.Wait()
}

// says receives a message to the connection manager.
func (p *played) says(from netip.Addr, m cm.Message, transaction uint64) {
	p.t.Helper()
	p.packet(from, &bth.Packet{
		Opcode: bth.Datagram, PKey: bth.DefaultPKey, QP: cm.QP,
		DETH: bth.DETH{QKey: cm.QKey, QP: cm.QP}, Payload: cm.Append(nil, m, transaction),
	}, false)
}

// heard returns the packets sent since the last call, after general checks.
func (p *played) heard() (all []bth.Packet) {
	p.t.Helper()
	for {
		select {
		case m := <-p.out:
			path := bth.NewPath(netip.AddrPortFrom(ourIP, UDPPort), m.to)
			if id, ok := path.Check(m.p); !ok || id != 0 || m.to.Port() != UDPPort {
				p.t.Errorf("a packet to %v; identification %d, %v", m.to, id, ok)
			}
			h, err := bth.Parse(m.p)
			if err != nil || h.PKey != bth.DefaultPKey || !h.Migrated {
				p.t.Errorf("packet %+v, error %v", h, err)
			}
			all = append(all, h)
		default:
			return all
		}
	}
}

// answer returns the message sent to a connection manager since the last call, or nil.
func (p *played) answer() (cm.Message, uint64) {
	p.t.Helper()
	all := p.heard()
	if len(all) == 0 {
		return nil, 0
	}
	h := all[0]
	m, transaction, err := cm.Parse(h.Payload)
	if len(all) > 1 || err != nil || h.Opcode != bth.Datagram || h.QP != cm.QP ||
		h.DETH != (bth.DETH{QKey: cm.QKey, QP: cm.QP}) {
		p.t.Fatalf("%d packets: %+v, error %v", len(all), h, err)
	}
	return m, transaction
}

const testPort = 20049

// ask returns a valid REQ.
func ask() *cm.REQ {
	ip := cm.IP{Port: 700, Src: theirIP, Dst: ourIP}
	return &cm.REQ{
		CommID: 0x01020304, ServiceID: cm.ServiceID(testPort), QP: 0x111111, PSN: 0xABCDEF,
		ResponderResources: 4, InitiatorDepth: 5, RNRRetry: 3, PKey: 0xFFFF, MTU: 3,
		LocalGID: theirIP, RemoteGID: ourIP, Private: append(ip.Append(nil), "upper"...),
	}
}

func (p *played) listen(c Config) *Listener {
	p.t.Helper()
	l, err := Listen(p.t.Context(), "192.0.2.2:20049", p.config(c))
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { l.Close() })
	return l
}

// same compares messages.
func (p *played) same(what string, got, want cm.Message) {
	p.t.Helper()
	addrs := cmp.Comparer(func(a, b netip.Addr) bool { return a == b })
	if diff := cmp.Diff(want, got, addrs); diff != "" {
		p.t.Errorf("%s: (-want +got)\n%s", what, diff)
	}
}

func first(m cm.Message, _ uint64) cm.Message { return m }

// up makes a connection that the peer asks for.
func (p *played) up(l *Listener) (transport.Endpoint, *cm.REQ, *cm.REP) {
	p.t.Helper()
	m := ask()
	p.says(theirIP, m, 77)
	req, err := l.Accept(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	accepted := make(chan transport.Endpoint, 1)
	go func() {
		ep, err := req.Accept(p.t.Context(), nil)
		if err != nil {
			p.t.Error(err)
		}
		accepted <- ep
	}()
	synctest.Wait()
	rep, ok := first(p.answer()).(*cm.REP)
	if !ok {
		p.t.Fatal("no REP")
	}
	p.says(theirIP, &cm.RTU{Local: m.CommID, Remote: rep.Local}, 77)
	return <-accepted, m, rep
}
