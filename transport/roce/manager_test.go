package roce

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

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

// TestREQRefused: each reason to refuse a connection is sent, with the ids of the request.
func TestREQRefused(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*cm.REQ)
		want   cm.Reason
	}{
		{"another port", func(m *cm.REQ) { m.ServiceID++ }, cm.InvalidService},
		{"port space of UDP", func(m *cm.REQ) { m.ServiceID ^= 0x170000 }, cm.InvalidService},
		{"no addresses", func(m *cm.REQ) { m.Private = make([]byte, 92) }, cm.Unsupported},
		{"unreliable connection", func(m *cm.REQ) { m.Transport = 1 }, cm.InvalidTransport},
		{"queue pair 1", func(m *cm.REQ) { m.QP = 1 }, cm.NoQP},
		{"path MTU too large", func(m *cm.REQ) { m.MTU = 4 }, cm.InvalidMTU},
		{"path MTU 0", func(m *cm.REQ) { m.MTU = 0 }, cm.InvalidMTU},
		{"path MTU 6", func(m *cm.REQ) { m.MTU = 6 }, cm.InvalidMTU},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPlayed(t)
				p.listen(Config{})
				m := ask()
				tt.change(m)
				p.says(theirIP, m, 77)
				got, transaction := p.answer()
				p.same(tt.name, got, &cm.REJ{
					Remote: m.CommID, About: cm.AboutREQ, Reason: tt.want, Info: []byte{},
					Private: make([]byte, cm.REJPrivateLen),
				})
				if transaction != 77 {
					t.Errorf("transaction %d, want 77", transaction)
				}
			})
		})
	}
}

// TestREQShares: hosts that are not admitted are refused, and so is a host with more connections
// than its share.
func TestREQShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlayed(t)
		bad := netip.MustParseAddr("192.0.2.66")
		p.listen(Config{MaxConns: 4, Admit: func(a netip.Addr) bool { return a != bad }})
		reason := func(from netip.Addr, id uint32) cm.Reason {
			m := ask()
			m.CommID = id
			p.says(from, m, 1)
			if rej, ok := first(p.answer()).(*cm.REJ); ok {
				return rej.Reason
			}
			return 0
		}
		other := netip.MustParseAddr("192.0.2.3")
		for i, tt := range []struct {
			from netip.Addr
			want cm.Reason
		}{
			{bad, cm.ConsumerDefined}, {theirIP, 0}, {theirIP, 0}, {theirIP, cm.NoResources},
			{other, 0}, {other, cm.NoResources},
		} {
			if got := reason(tt.from, uint32(i+1)); got != tt.want {
				t.Errorf("request %d of %v: refused for %v, want %v", i, tt.from, got, tt.want)
			}
		}
	})
}

// TestPending: a host may have half of the requests that wait for Accept. The next one is refused.
func TestPending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlayed(t)
		p.listen(Config{})
		for id := range uint32(maxPending/2 + 1) {
			m := ask()
			m.CommID = id + 1
			p.says(theirIP, m, 1)
			rej, refused := first(p.answer()).(*cm.REJ)
			if refused != (id == maxPending/2) || refused && rej.Reason != cm.NoResources {
				t.Fatalf("request %d: %+v", id, rej)
			}
		}
	})
}

func first(m cm.Message, _ uint64) cm.Message { return m }

// TestPassive: a connection that a peer asks for, from the REQ to the DREP. Each message comes
// twice, or must be sent again.
func TestPassive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlayed(t)
		l := p.listen(Config{IRD: 3, ORD: 16})
		m := ask()
		p.says(theirIP, m, 77)
		if got := first(p.answer()); got != nil {
			t.Fatalf("a REQ was answered with %+v at once", got)
		}
		p.says(theirIP, m, 77)
		got, transaction := p.answer()
		mra, ok := got.(*cm.MRA)
		if !ok || mra.Remote != m.CommID || mra.About != cm.AboutREQ || transaction != 77 {
			t.Fatalf("a REQ that comes again is answered with %+v", got)
		}
		req, err := l.Accept(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		accepted := make(chan transport.Endpoint)
		go func() {
			ep, err := req.Accept(t.Context(), []byte("welcome"))
			if err != nil {
				t.Error(err)
			}
			accepted <- ep
		}()
		synctest.Wait()
		rep, ok := first(p.answer()).(*cm.REP)
		if !ok {
			t.Fatal("no REP")
		}
		want := *rep
		want.Remote, want.ResponderResources, want.InitiatorDepth = m.CommID, 3, 4
		want.RNRRetry, want.FlowControl, want.SRQ = 7, false, false
		p.same("REP", rep, &want)
		if rep.QP <= 1 || rep.Local == 0 || string(rep.Private[:7]) != "welcome" {
			t.Errorf("REP %+v", rep)
		}
		for _, wait := range []time.Duration{200, 400, 800, 1600, 2000, 2000} {
			time.Sleep(wait*time.Millisecond + time.Millisecond)
			synctest.Wait()
			p.same("REP again", first(p.answer()), rep)
		}
		p.says(theirIP, m, 78)
		p.same("REP, as the REQ has come again", first(p.answer()), rep)
		p.says(theirIP, &cm.RTU{Local: m.CommID + 1, Remote: rep.Local}, 77)
		p.says(netip.MustParseAddr("192.0.2.3"), &cm.RTU{Local: m.CommID, Remote: rep.Local}, 77)
		select {
		case <-accepted:
			t.Fatal("a RTU of somebody else is taken")
		default:
		}
		p.says(theirIP, &cm.RTU{Local: m.CommID, Remote: rep.Local}, 77)
		ep := <-accepted
		if i := ep.Info(); i.IRD != 3 || i.ORD != 4 {
			t.Errorf("IRD %d, ORD %d; want 3 and 4", i.IRD, i.ORD)
		}
		dreq := &cm.DREQ{Local: m.CommID, Remote: rep.Local, QP: rep.QP + 1}
		p.says(theirIP, dreq, 79)
		if got := first(p.answer()); got != nil {
			t.Errorf("a DREQ for another queue pair was answered with %+v", got)
		}
		dreq.QP = rep.QP
		for range 2 {
			p.says(theirIP, dreq, 79)
			all := p.heard()
			if len(all) == 0 {
				t.Fatal("a DREQ was not answered")
			}
			got, transaction, _ := cm.Parse(all[0].Payload)
			p.same("DREP", got, &cm.DREP{
				Local: rep.Local, Remote: m.CommID, Private: make([]byte, cm.DREPPrivateLen),
			})
			if transaction != 79 {
				t.Errorf("DREP with transaction %d, want 79", transaction)
			}
		}
		<-ep.Done()
		if !errors.Is(ep.Err(), transport.ErrClosedByPeer) {
			t.Errorf("ended with %v, want %v", ep.Err(), transport.ErrClosedByPeer)
		}
	})
}

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

// TestNoRTU: a packet of the connection replaces a lost RTU. Without either, the connection is
// given up, and the peer is told.
func TestNoRTU(t *testing.T) {
	for _, lost := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			p := newPlayed(t)
			l := p.listen(Config{KeepAlive: -1})
			m := ask()
			p.says(theirIP, m, 77)
			req, err := l.Accept(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			failed := make(chan error, 1)
			go func() {
				ep, err := req.Accept(t.Context(), nil)
				if err == nil {
					ep.Close()
				}
				failed <- err
			}()
			synctest.Wait()
			rep := first(p.answer()).(*cm.REP)
			if lost {
				time.Sleep(DefaultSetupTimeout)
				if err := <-failed; !errors.Is(err, ErrPeerTimeout) {
					t.Errorf("got %v, want %v", err, ErrPeerTimeout)
				}
				synctest.Wait()
				all := p.heard()
				got, _, _ := cm.Parse(all[len(all)-1].Payload)
				if rej, ok := got.(*cm.REJ); !ok || rej.Reason != cm.Timeout || len(all) > 10 {
					t.Errorf("%d packets, the last is %+v", len(all), got)
				}
				return
			}
			p.packet(theirIP, &bth.Packet{
				Opcode: bth.WriteOnly, PKey: bth.DefaultPKey, QP: rep.QP, PSN: rep.PSN,
			}, false)
			if err := <-failed; err != nil {
				t.Error(err)
			}
			time.Sleep(time.Minute)
		})
	}
}

// TestDREQAgain: after Close the peer is asked a few times at most, and no more once it has
// answered.
func TestDREQAgain(t *testing.T) {
	for _, answered := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			p := newPlayed(t)
			ep, m, rep := p.up(p.listen(Config{}))
			ep.Close()
			synctest.Wait()
			if answered {
				p.says(theirIP, &cm.DREP{Local: m.CommID, Remote: rep.Local}, 1)
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			n := 0
			for _, h := range p.heard() {
				got, _, _ := cm.Parse(h.Payload)
				p.same("DREQ", got, &cm.DREQ{
					Local: rep.Local, Remote: m.CommID, QP: m.QP,
					Private: make([]byte, cm.DREQPrivateLen),
				})
				n++
			}
			if answered && n > 2 || !answered && (n < endTries || n > 1+endTries) {
				t.Errorf("answered %v: %d DREQs", answered, n)
			}
		})
	}
}

// TestActive: a connection that this end asks for.
func TestActive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlayed(t)
		type result struct {
			ep  transport.Endpoint
			err error
		}
		dialled := make(chan result, 1)
		d := Dialer{Config: p.config(Config{IRD: 3, ORD: 16})}
		go func() {
			ep, err := d.Dial(t.Context(), "192.0.2.1:20049", []byte("hello"))
			dialled <- result{ep, err}
		}()
		synctest.Wait()
		req, ok := first(p.answer()).(*cm.REQ)
		if !ok {
			t.Fatal("no REQ")
		}
		ip, upper, err := cm.ParseIP(req.Private)
		if err != nil || ip.Src != ourIP || ip.Dst != theirIP || string(upper[:5]) != "hello" {
			t.Errorf("private data %+v, %q, %v", ip, upper, err)
		}
		p.same("REQ", req, &cm.REQ{
			CommID: req.CommID, ServiceID: cm.ServiceID(20049), CAGUID: req.CAGUID, QP: req.QP,
			ResponderResources: 3, InitiatorDepth: 16, RemoteTimeout: 20, LocalTimeout: 20,
			PSN: req.PSN, RetryCount: 7, RNRRetry: 7, MaxCMRetries: 15, AckTimeout: 18, PKey: 0xFFFF,
			MTU: 3, LocalLID: 0xFFFF, RemoteLID: 0xFFFF, LocalGID: ourIP, RemoteGID: theirIP,
			HopLimit: 64, Private: req.Private,
		})
		time.Sleep(201 * time.Millisecond)
		synctest.Wait()
		p.same("REQ again", first(p.answer()), req)
		p.says(theirIP, &cm.MRA{Local: 9, Remote: req.CommID, ServiceTimeout: 20}, 1)
		time.Sleep(4 * time.Second)
		synctest.Wait()
		if got := first(p.answer()); got != nil {
			t.Errorf("an MRA for 4.3 s, and then %+v", got)
		}
		rep := &cm.REP{
			Local: 9, Remote: req.CommID, QP: 0x222222, PSN: 5, ResponderResources: 2,
			InitiatorDepth: 8, RNRRetry: 6, Private: []byte("welcome"),
		}
		stray := *rep
		stray.Remote++
		p.says(theirIP, &stray, 6)
		rej, ok := first(p.answer()).(*cm.REJ)
		if !ok || rej.Reason != cm.InvalidCommID || rej.About != cm.AboutREP {
			t.Errorf("a REP for nobody was answered with %+v", rej)
		}
		want := &cm.RTU{Local: req.CommID, Remote: 9, Private: make([]byte, cm.RTUPrivateLen)}
		p.says(theirIP, rep, 6)
		p.same("RTU", first(p.answer()), want)
		p.says(theirIP, rep, 6)
		p.same("RTU again", first(p.answer()), want)
		r := <-dialled
		if r.err != nil {
			t.Fatal(r.err)
		}
		if i := r.ep.Info(); i.IRD != 3 || i.ORD != 2 {
			t.Errorf("IRD %d, ORD %d; want 3 and 2", i.IRD, i.ORD)
		}
		p.says(theirIP, &cm.REJ{Local: 9, Remote: req.CommID, Reason: cm.StaleConnection}, 6)
		<-r.ep.Done()
		if !errors.Is(r.ep.Err(), transport.ErrClosedByPeer) {
			t.Errorf("ended with %v", r.ep.Err())
		}
		time.Sleep(time.Minute)
	})
}

// TestDialRefused: the meaning of a REJ, and the REJ sent when a dial is given up.
func TestDialRefused(t *testing.T) {
	for reason, want := range map[cm.Reason]error{
		cm.InvalidService: ErrRefused, cm.ConsumerDefined: new(transport.RejectError),
		cm.InvalidMTU: new(transport.RejectError), 0: ErrPeerTimeout,
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newPlayed(t)
			failed := make(chan error, 1)
			d := Dialer{Config: p.config(Config{})}
			go func() {
				_, err := d.Dial(t.Context(), "192.0.2.1:20049", nil)
				failed <- err
			}()
			synctest.Wait()
			req := first(p.answer()).(*cm.REQ)
			if reason == 0 {
				time.Sleep(DefaultSetupTimeout)
			} else {
				p.says(theirIP, &cm.REJ{Remote: req.CommID, Reason: reason}, 1)
			}
			err := <-failed
			var rejected *transport.RejectError
			if _, ok := want.(*transport.RejectError); ok != errors.As(err, &rejected) ||
				!ok && !errors.Is(err, want) {
				t.Errorf("%v: got %v, want %v", reason, err, want)
			}
			if reason != 0 {
				return
			}
			synctest.Wait()
			all := p.heard()
			m, _, _ := cm.Parse(all[len(all)-1].Payload)
			if rej, ok := m.(*cm.REJ); !ok || rej.Reason != cm.Timeout || rej.Local != req.CommID {
				t.Errorf("%d packets, the last is %+v", len(all), m)
			}
		})
	}
}

// TestUnanswered: packets to queue pair 1 that are not messages of the connection manager, or
// unknown ones, are not answered; nor are packets of no connection.
func TestUnanswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlayed(t)
		var c Counters
		ep, _, rep := p.up(p.listen(Config{Counters: &c}))
		good := bth.Packet{
			Opcode: bth.Datagram, PKey: bth.DefaultPKey, QP: cm.QP,
			DETH: bth.DETH{QKey: cm.QKey, QP: cm.QP}, Payload: cm.Append(nil, ask(), 1),
		}
		mad := func(change func(*bth.Packet)) *bth.Packet {
			h := good
			h.Payload = append([]byte(nil), good.Payload...)
			change(&h)
			return &h
		}
		other := netip.MustParseAddr("192.0.2.3")
		write := &bth.Packet{Opcode: bth.WriteOnly, AckReq: true, QP: rep.QP, PSN: rep.PSN}
		for name, h := range map[string]*bth.Packet{
			"another Q_Key":         mad(func(h *bth.Packet) { h.DETH.QKey = 0x11111111 }),
			"a Send":                mad(func(h *bth.Packet) { h.Opcode = bth.SendOnly }),
			"short":                 mad(func(h *bth.Packet) { h.Payload = h.Payload[:255] }),
			"another class":         mad(func(h *bth.Packet) { h.Payload[1] = 3 }),
			"another method":        mad(func(h *bth.Packet) { h.Payload[3] = 1 }),
			"path migration (LAP)":  mad(func(h *bth.Packet) { h.Payload[17] = 0x19 }),
			"service lookup (SIDR)": mad(func(h *bth.Packet) { h.Payload[17] = 0x17 }),
			"another queue pair":    {Opcode: bth.WriteOnly, AckReq: true, QP: rep.QP ^ 1, PSN: rep.PSN},
			"from another address":  write,
			"another transport, UC": {Opcode: 0x2A, AckReq: true, QP: rep.QP, PSN: rep.PSN},
		} {
			from := theirIP
			if name == "from another address" {
				from = other
			}
			p.packet(from, h, false)
			if all := p.heard(); len(all) > 0 {
				t.Errorf("%s: answered with %+v", name, all)
			}
		}
		if s := c.Stats(); s.BadPackets != 8 || s.Strays != 2 {
			t.Errorf("%d bad packets and %d strays, want 8 and 2", s.BadPackets, s.Strays)
		}
		p.packet(theirIP, write, false)
		if all := p.heard(); len(all) != 1 || all[0].AETH.Syndrome != bth.ACK {
			t.Errorf("a good packet was answered with %+v", all)
		}
		ep.Close()
		time.Sleep(time.Minute)
	})
}

// TestCongestion: congestion marks are answered by a CNP, one for many, and a received CNP slows
// this end down.
func TestCongestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlayed(t)
		var c Counters
		ep, m, rep := p.up(p.listen(Config{Counters: &c}))
		write := func(n uint32, marked bool) {
			p.packet(theirIP, &bth.Packet{
				Opcode: bth.WriteOnly, QP: rep.QP, PSN: (rep.PSN + n) & bth.Mask24,
			}, marked)
		}
		write(0, false)
		if all := p.heard(); len(all) > 0 {
			t.Errorf("without a mark: %+v", all)
		}
		write(1, true)
		write(2, true)
		all := p.heard()
		if len(all) != 1 || all[0].Opcode != bth.CNP || !all[0].BECN || all[0].QP != m.QP ||
			len(all[0].Payload) != 16 {
			t.Errorf("two marks: %+v", all)
		}
		time.Sleep(noticeEvery)
		write(3, true)
		if all := p.heard(); len(all) != 1 {
			t.Errorf("a mark later: %+v", all)
		}
		p.packet(theirIP, &bth.Packet{
			Opcode: bth.CNP, BECN: true, QP: rep.QP, Payload: make([]byte, 16),
		}, false)
		if s := c.Stats(); s.CNPsSent != 2 || s.CNPsReceived != 1 {
			t.Errorf("%d notices sent, %d received", s.CNPsSent, s.CNPsReceived)
		}
		ep.Close()
		time.Sleep(time.Minute)
	})
}

// TestKeepAlive: a silent peer is sent an RDMA Write of length zero, and the connection ends if
// there is no answer.
func TestKeepAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlayed(t)
		ep, m, rep := p.up(p.listen(Config{}))
		p.packet(theirIP, &bth.Packet{
			Opcode: bth.WriteOnly, PKey: bth.DefaultPKey, QP: rep.QP, PSN: rep.PSN,
		}, false)
		time.Sleep(DefaultKeepAlive + time.Millisecond)
		synctest.Wait()
		all := p.heard()
		if len(all) != 1 || all[0].Opcode != bth.WriteOnly || all[0].RETH != (bth.RETH{}) ||
			!all[0].AckReq || all[0].PSN != m.PSN {
			t.Fatalf("sent %+v", all)
		}
		time.Sleep(DefaultPeerTimeout + 5*time.Second)
		<-ep.Done()
		if !errors.Is(ep.Err(), ErrPeerTimeout) {
			t.Errorf("ended with %v", ep.Err())
		}
		time.Sleep(time.Minute)
	})
}

// TestIdentifications: which identifications in a row are accepted.
func TestIdentifications(t *testing.T) {
	var s identifications
	now := time.Unix(1e9, 0)
	s.plausible(5000, now)
	s.plausible(5001, now)
	for _, tt := range []struct {
		after time.Duration
		id    uint16
		want  bool
	}{
		{0, 5002, true}, {0, 5002 + 1024, true}, {0, 5002 + 3*1024, false}, {0, 5002 + 1025, true},
		// as with each system call that sends segments
		{0, 7, true},
		{0, 9000, false}, {0, 30000, false}, {0, 30001, true}, // the sender counts elsewhere
		{0, 32000, false}, {2 * time.Millisecond, 32100, true}, {0, 60000, false},
		{time.Second, 60000, true}, {0, 65535, false}, {0, 100, true},
	} {
		now = now.Add(tt.after)
		if got := s.plausible(tt.id, now); got != tt.want {
			t.Errorf("identification %d: plausible %v, want %v", tt.id, got, tt.want)
		}
	}
}
