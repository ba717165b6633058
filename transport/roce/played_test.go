package roce_test

import (
	"context"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/roce"
	"github.com/rpcrdma/go-rpcrdma/transport/roce/bth"
	"github.com/rpcrdma/go-rpcrdma/transport/roce/cm"
)

var (
	server = netip.MustParseAddr("192.0.2.1")
	client = netip.MustParseAddr("192.0.2.9")
)

// service is the port of the rigs' listeners.
const service = 20049

// serial numbers the played peers.
var serial atomic.Uint32

// played is a peer that a test plays by hand.
type played struct {
	t      testing.TB
	hub    *roce.Hub
	ip, to netip.Addr
	path   bth.Path // to the peer
	back   bth.Path

	id, qp  uint32 // ours
	psn     uint32 // of the next request packet
	theirID uint32
	theirQP uint32
	want    uint32 // the PSN of their first request
}

func play(t testing.TB, hub *roce.Hub, ip, to netip.Addr) *played {
	hub.Box(ip)
	here, there := netip.AddrPortFrom(ip, roce.UDPPort), netip.AddrPortFrom(to, roce.UDPPort)
	n := serial.Add(1)
	return &played{
		t: t, hub: hub, ip: ip, to: to, path: bth.NewPath(here, there), back: bth.NewPath(there, here),
		id: 0x1000 + n, qp: 0x2000 + n, psn: 0xFFFFF0, // soon wraps
	}
}

// bytes sends a datagram.
func (p *played) bytes(b []byte) {
	p.hub.Send(netip.AddrPortFrom(p.ip, roce.UDPPort), netip.AddrPortFrom(p.to, roce.UDPPort), b)
}

// encode returns a packet without ICRC.
func encode(h bth.Packet) []byte {
	h.Migrated = true
	if h.PKey == 0 {
		h.PKey = bth.DefaultPKey
	}
	b := append(h.AppendHeaders(nil, len(h.Payload)), h.Payload...)
	return append(b, make([]byte, bth.Pad(len(h.Payload)))...)
}

// packet sends a packet to a queue pair; 0 means that of the connection.
func (p *played) packet(h bth.Packet) {
	if h.QP == 0 {
		h.QP = p.theirQP
	}
	p.bytes(p.path.AppendSum(encode(h), 0, 0))
}

// request sends the next packet of requests.
func (p *played) request(h bth.Packet) {
	h.PSN = p.psn
	p.psn = (p.psn + 1) & bth.Mask24
	p.packet(h)
}

// respond sends an acknowledgement.
func (p *played) respond(psn uint32, s bth.Syndrome) {
	p.packet(bth.Packet{Opcode: bth.Acknowledge, PSN: psn & bth.Mask24, AETH: bth.AETH{Syndrome: s}})
}

// mad sends a message to the connection manager.
func (p *played) mad(m cm.Message) { p.madBytes(cm.Append(nil, m, 7)) }

func (p *played) madBytes(b []byte) {
	p.packet(bth.Packet{
		Opcode: bth.Datagram, QP: cm.QP, DETH: bth.DETH{QKey: cm.QKey, QP: cm.QP}, Payload: b,
	})
}

// next takes the next packet, which must be valid.
func (p *played) next() bth.Packet {
	p.t.Helper()
	b := p.hub.Take(p.t, p.ip)
	if _, ok := p.back.Check(b); !ok { // segments' identifications count up
		p.t.Fatalf("a packet with a wrong ICRC: %x", b)
	}
	h, err := bth.Parse(b)
	if err != nil {
		p.t.Fatalf("%v: %x", err, b)
	}
	return h
}

// nextMAD takes the next message of the connection manager, skipping other packets.
func nextMAD[M cm.Message](p *played) M {
	p.t.Helper()
	for {
		h := p.next()
		if h.QP != cm.QP {
			continue
		}
		m, _, err := cm.Parse(h.Payload)
		if err != nil {
			p.t.Fatal(err)
		}
		got, ok := m.(M)
		if !ok {
			p.t.Fatalf("got %T %+v, want %T", m, m, got)
		}
		return got
	}
}

// nextRC takes the next packet of the connection with an opcode, skipping others.
func (p *played) nextRC(o bth.Opcode) bth.Packet {
	p.t.Helper()
	for {
		if h := p.next(); h.Opcode == o {
			if h.QP != p.qp {
				p.t.Fatalf("a packet for queue pair %d, want %d", h.QP, p.qp)
			}
			return h
		}
	}
}

// silent checks that nothing was sent here: the answer to a DREQ for an unknown connection must
// come first.
func (p *played) silent() {
	p.t.Helper()
	p.mad(&cm.DREQ{Local: 1, Remote: 2, QP: 3})
	if m := nextMAD[*cm.DREP](p); m.Local != 2 || m.Remote != 1 {
		p.t.Fatalf("got %+v", m)
	}
}

// req returns a request for a connection.
func (p *played) req() *cm.REQ {
	return &cm.REQ{
		CommID: p.id, ServiceID: cm.ServiceID(service), QP: p.qp, ResponderResources: 2,
		InitiatorDepth: 2, RemoteTimeout: 20, LocalTimeout: 20, PSN: 5, RetryCount: 7, RNRRetry: 7,
		MaxCMRetries: 15, PKey: bth.DefaultPKey, MTU: 1, LocalGID: p.ip, RemoteGID: p.to,
		Private: append(cm.IP{Port: 1023, Src: p.ip, Dst: p.to}.Append(nil), "hello"...),
	}
}

// granted records a REP. The peer's PSNs begin where its REQ says, at 5.
func (p *played) granted(m *cm.REP) {
	p.theirID, p.theirQP, p.psn, p.want = m.Local, m.QP, m.PSN, 5
}

// rtu confirms the REP.
func (p *played) rtu() { p.mad(&cm.RTU{Local: p.id, Remote: p.theirID}) }

// rep grants the connection that a REQ asks for.
func (p *played) rep(m *cm.REQ) *cm.REP {
	p.theirID, p.theirQP, p.psn, p.want = m.CommID, m.QP, m.PSN, 9
	return &cm.REP{
		Local: p.id, Remote: m.CommID, QP: p.qp, PSN: 9, ResponderResources: 2, InitiatorDepth: 2,
		RNRRetry: 7,
	}
}

// dreq asks to end the connection.
func (p *played) dreq() *cm.DREQ { return &cm.DREQ{Local: p.id, Remote: p.theirID, QP: p.theirQP} }

// end ends the connection, skipping other packets.
func (p *played) end() {
	p.t.Helper()
	p.mad(p.dreq())
	for {
		h := p.next()
		if h.QP != cm.QP {
			continue
		}
		if m, _, err := cm.Parse(h.Payload); err == nil {
			if m, ok := m.(*cm.DREP); ok && m.Local == p.theirID {
				return
			}
		}
	}
}

// alive checks that the connection works.
func (p *played) alive() {
	p.t.Helper()
	psn := p.psn
	p.request(bth.Packet{Opcode: bth.WriteOnly, AckReq: true})
	for {
		h := p.nextRC(bth.Acknowledge)
		if h.AETH.Syndrome == bth.ACK && h.PSN == psn {
			return
		}
	}
}

// rig is a host with a Listener, and one connection that must remain unharmed.
type rig struct {
	t        testing.TB
	hub      *roce.Hub
	cfg      roce.Config
	counters *roce.Counters
	l        *roce.Listener
	a, b     transport.Endpoint // ends of the undamaged connection
	arrived  messages           // at b
	sent     completions        // of a
	addr     byte               // of the last played host
}

func newRig(t testing.TB, cfg roce.Config) *rig {
	r := &rig{
		t: t, hub: roce.NewHub(t), counters: new(roce.Counters), arrived: make(messages, 16),
		sent: make(completions, 16), addr: 100,
	}
	cfg.Counters, cfg.Logger, cfg.MTU = r.counters, quiet, mtu
	r.cfg = r.hub.On(server, cfg)
	var err error
	if r.l, err = roce.Listen(t.Context(), "192.0.2.1:20049", r.cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.l.Close() })
	accepted := r.accept(nil)
	d := roce.Dialer{Config: r.hub.On(client, roce.Config{Logger: quiet, MTU: mtu})}
	if r.a, err = d.Dial(t.Context(), "192.0.2.1:20049", nil); err != nil {
		t.Fatal(err)
	}
	r.b = <-accepted
	r.a.Start(make(messages, 1))
	r.b.Start(r.arrived)
	t.Cleanup(func() {
		r.unharmed()
		r.a.Close()
		<-r.b.Done()
	})
	return r
}

// accept accepts one connection.
func (r *rig) accept(private []byte) <-chan transport.Endpoint {
	c := make(chan transport.Endpoint, 1)
	go func() {
		defer close(c)
		req, err := r.l.Accept(context.Background())
		if err != nil {
			r.t.Errorf("Listener.Accept: %v", err)
			return
		}
		ep, err := req.Accept(context.Background(), transport.Private(private))
		if err != nil {
			r.t.Errorf("Request.Accept: %v", err)
			return
		}
		c <- ep
	}()
	return c
}

// unharmed checks that this connection still works.
func (r *rig) unharmed() {
	r.t.Helper()
	if err := r.b.PostRecv(&transport.RecvRequest{Local: memory(16)}); err != nil {
		r.t.Fatal(err)
	}
	local := []transport.Slice{{Bytes: []byte("unharmed")}}
	wr := &transport.WorkRequest{
		Op: transport.OpSend, Flags: transport.Signaled, Local: local, Done: r.sent,
	}
	if err := r.a.Post(wr); err != nil {
		r.t.Fatal(err)
	}
	if got := wait(r.t, r.arrived); string(got) != "unharmed" {
		r.t.Fatalf("got %q", got)
	}
	if err := wait(r.t, r.sent); err != nil {
		r.t.Fatal(err)
	}
}

// host returns a played peer with a new address.
func (r *rig) host() *played {
	r.addr++
	return play(r.t, r.hub, netip.AddrFrom4([4]byte{192, 0, 2, r.addr}), server)
}

// asked connects a played peer that asks for the connection.
func (r *rig) asked() (*played, transport.Endpoint) {
	r.t.Helper()
	p := r.host()
	accepted := r.accept(nil)
	p.mad(p.req())
	p.granted(nextMAD[*cm.REP](p))
	p.rtu()
	return p, wait(r.t, accepted)
}

// dialed is the result of a Dial.
type dialed struct {
	ep  transport.Endpoint
	err error
}

// dial dials a played peer.
func (r *rig) dial(p *played, cfg roce.Config) <-chan dialed {
	c := make(chan dialed, 1)
	go func() {
		ep, err := roce.Dialer{Config: cfg}.Dial(context.Background(), p.ip.String()+":1", nil)
		c <- dialed{ep, err}
	}()
	return c
}

// granted connects a played peer that is asked for the connection.
func (r *rig) granted() (*played, transport.Endpoint) {
	r.t.Helper()
	p := r.host()
	c := r.dial(p, r.cfg)
	p.mad(p.rep(nextMAD[*cm.REQ](p)))
	nextMAD[*cm.RTU](p)
	d := wait(r.t, c)
	if d.err != nil {
		r.t.Fatal(d.err)
	}
	return p, d.ep
}

// roles are both ways to connect a played peer.
func (r *rig) roles() map[string]func() (*played, transport.Endpoint) {
	return map[string]func() (*played, transport.Endpoint){"asked": r.asked, "granted": r.granted}
}

// gained waits until a counter has grown by n.
func (r *rig) gained(what string, of func(roce.Stats) uint64, before roce.Stats, n uint64) {
	r.t.Helper()
	hang.Until(r.t, what+" are not counted", func() bool {
		return of(r.counters.Stats()) == of(before)+n
	})
}

// messages are the delivered messages.
type messages chan []byte

func (m messages) Received(batch []transport.Message) {
	for _, msg := range batch {
		m <- msg.Receive.Local[0].Bytes[:msg.Len]
	}
}

// completions are the results of requests.
type completions chan error

func (c completions) Complete(_ *transport.WorkRequest, err error) { c <- err }

func memory(n int) []transport.Slice { return []transport.Slice{{Bytes: make([]byte, n)}} }

// patience is how long a test waits before it reports a hang.
const patience = hang.Patience

func wait[T any](t testing.TB, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(patience):
		t.Fatal("nothing comes")
	}
	return v
}
