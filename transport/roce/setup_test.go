package roce_test

import (
	"context"
	"encoding/binary"
	"errors"
	"net/netip"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/roce"
	"github.com/rpcrdma/go-rpcrdma/transport/roce/bth"
	"github.com/rpcrdma/go-rpcrdma/transport/roce/cm"
)

// TestRefusedREQ has requests that are refused, each with its reason.
func TestRefusedREQ(t *testing.T) {
	r := newRig(t, roce.Config{})
	for _, tt := range []struct {
		name   string
		change func(*cm.REQ)
		want   cm.Reason
	}{
		{"nobody's service", func(m *cm.REQ) { m.ServiceID++ }, cm.InvalidService},
		{"no IP service", func(m *cm.REQ) { m.ServiceID = service }, cm.InvalidService},
		{"MTU 0", func(m *cm.REQ) { m.MTU = 0 }, cm.InvalidMTU},
		{"MTU 7", func(m *cm.REQ) { m.MTU = 7 }, cm.InvalidMTU},
		{"larger MTU", func(m *cm.REQ) { m.MTU = 2 }, cm.InvalidMTU},
		{"unreliable", func(m *cm.REQ) { m.Transport = 1 }, cm.InvalidTransport},
		{"XRC", func(m *cm.REQ) { m.Transport = 3 }, cm.InvalidTransport},
		{"no addresses", func(m *cm.REQ) { m.Private = nil }, cm.Unsupported},
		{"addresses of version 1", func(m *cm.REQ) { m.Private[0] = 0x10 }, cm.Unsupported},
		{"queue pair 0", func(m *cm.REQ) { m.QP = 0 }, cm.NoQP},
		{"queue pair 1", func(m *cm.REQ) { m.QP = 1 }, cm.NoQP},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := r.host()
			p.t = t
			m := p.req()
			tt.change(m)
			for range 2 {
				p.mad(m)
				got := nextMAD[*cm.REJ](p)
				if got.Reason != tt.want || got.Remote != p.id || got.About != cm.AboutREQ {
					t.Errorf("got %v about %d to %#x, want %v", got.Reason, got.About, got.Remote, tt.want)
				}
			}
		})
	}
	if conns, pairs, asked, _ := r.hub.Left(server); conns != 1 || pairs != 1 || asked != 1 {
		t.Errorf("%d connections, %d queue pairs, %d requests are left", conns, pairs, asked)
	}
}

// TestRepeatedREQ repeats a request: before Accept, after it, with another queue pair, and when the
// connection is over.
func TestRepeatedREQ(t *testing.T) {
	r := newRig(t, roce.Config{})
	p := r.host()
	m := p.req()
	p.mad(m)
	p.mad(m)
	if got := nextMAD[*cm.MRA](p); got.Remote != p.id || got.About != cm.AboutREQ {
		t.Errorf("got %+v", got)
	}
	accepted := r.accept([]byte("welcome"))
	rep := nextMAD[*cm.REP](p)
	p.granted(rep)
	p.mad(m)
	again := nextMAD[*cm.REP](p)
	if again.QP != rep.QP || again.PSN != rep.PSN || again.Local != rep.Local ||
		string(again.Private[:7]) != "welcome" {
		t.Errorf("got %+v, then %+v", rep, again)
	}
	other := *m
	other.QP++
	p.mad(&other)
	if got := nextMAD[*cm.REJ](p); got.Reason != cm.DuplicateCommID {
		t.Errorf("got %v", got.Reason)
	}
	p.mad(&cm.RTU{Local: p.id + 1, Remote: p.theirID}) // of another connection
	p.silent()
	select {
	case <-accepted:
		t.Error("accepted by another RTU")
	default:
	}
	p.rtu()
	ep := wait(t, accepted)
	p.mad(m) // the network delayed it for long
	nextMAD[*cm.REP](p)
	p.end()
	wait(t, ep.Done())
	hang.Until(t, "it is not forgotten", func() bool {
		conns, _, _, _ := r.hub.Left(server)
		return conns == 1
	})
	p.mad(m)
	if got := nextMAD[*cm.REJ](p); got.Reason != cm.StaleConnection || got.Remote != p.id {
		t.Errorf("got %v", got.Reason)
	}
}

// TestRejectedREQComesAgain: a copy of a rejected request is not a new request.
func TestRejectedREQComesAgain(t *testing.T) {
	r := newRig(t, roce.Config{})
	p := r.host()
	p.mad(p.req())
	req, err := r.l.Accept(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := string(req.Info().PrivateData[:6]); got != "hello\x00" {
		t.Errorf("private data %q", got)
	}
	if err := req.Reject([]byte("no")); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		m := nextMAD[*cm.REJ](p)
		if m.Reason != cm.ConsumerDefined || string(m.Private[:3]) != "no\x00" {
			t.Errorf("got %v with %q", m.Reason, m.Private[:3])
		}
		p.mad(p.req())
	}
	nextMAD[*cm.REJ](p)
	if conns, _, _, _ := r.hub.Left(server); conns != 1 {
		t.Errorf("%d connections", conns)
	}
}

// TestLostRTU: data from the peer replaces a lost RTU.
func TestLostRTU(t *testing.T) {
	r := newRig(t, roce.Config{})
	p := r.host()
	accepted := r.accept(nil)
	p.mad(p.req())
	p.granted(nextMAD[*cm.REP](p))
	p.alive()
	ep := wait(t, accepted)
	p.end()
	wait(t, ep.Done())
}

// TestDREQInPlaceOfRTU has a peer that ends a connection as soon as it is made.
func TestDREQInPlaceOfRTU(t *testing.T) {
	r := newRig(t, roce.Config{})
	p := r.host()
	accepted := r.accept(nil)
	p.mad(p.req())
	p.granted(nextMAD[*cm.REP](p))
	p.end()
	ep := wait(t, accepted)
	wait(t, ep.Done())
	if err := ep.Err(); !errors.Is(err, transport.ErrClosedByPeer) {
		t.Error(err)
	}
}

// TestRepeatedREP repeats a REP after its RTU was lost, and sends REPs of no connection.
func TestRepeatedREP(t *testing.T) {
	r := newRig(t, roce.Config{})
	p := r.host()
	c := r.dial(p, r.cfg)
	rep := p.rep(nextMAD[*cm.REQ](p))
	p.mad(&cm.MRA{Local: p.id, Remote: p.theirID, About: cm.AboutREQ, ServiceTimeout: 31})
	p.mad(rep)
	for range 3 {
		if m := nextMAD[*cm.RTU](p); m.Local != p.theirID || m.Remote != p.id {
			t.Errorf("got %+v", m)
		}
		p.mad(rep)
	}
	nextMAD[*cm.RTU](p)
	d := wait(t, c)
	if d.err != nil {
		t.Fatal(d.err)
	}
	other := *rep
	other.Local++
	p.mad(&other)
	p.mad(&cm.REJ{Local: p.id + 1, Remote: p.theirID, Reason: cm.ConsumerDefined})
	p.silent()
	p.alive()
	p.mad(&cm.REP{Local: 9, Remote: p.theirID + 1, QP: 5}) // of no connection
	if m := nextMAD[*cm.REJ](p); m.Remote != 9 || m.About != cm.AboutREP ||
		m.Reason != cm.InvalidCommID {
		t.Errorf("got %+v", m)
	}
	p.mad(&cm.REJ{Local: p.id, Remote: p.theirID, Reason: cm.Timeout}) // the peer gives up
	wait(t, d.ep.Done())
	if err := d.ep.Err(); !errors.Is(err, transport.ErrClosedByPeer) {
		t.Error(err)
	}
}

// TestREPToQueuePair has a peer grant a connection with reserved queue pair numbers.
func TestREPToQueuePair(t *testing.T) {
	r := newRig(t, roce.Config{})
	for qp := range uint32(2) {
		p := r.host()
		c := r.dial(p, r.cfg)
		rep := p.rep(nextMAD[*cm.REQ](p))
		rep.QP = qp
		p.mad(rep)
		if m := nextMAD[*cm.REJ](p); m.Reason != cm.NoQP || m.About != cm.AboutREP {
			t.Errorf("got %+v", m)
		}
		if d := wait(t, c); !errors.Is(d.err, roce.ErrProtocol) {
			t.Errorf("got %v", d.err)
		}
	}
}

// TestPeerGivesUp has a peer give up its request before, and while, it is granted.
func TestPeerGivesUp(t *testing.T) {
	r := newRig(t, roce.Config{})
	for _, granted := range []bool{false, true} {
		p := r.host()
		p.mad(p.req())
		req, err := r.l.Accept(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		giveUp := &cm.REJ{Local: p.id, About: cm.AboutREQ, Reason: cm.Timeout}
		if !granted {
			p.mad(giveUp)
		}
		failed := make(chan error, 1)
		go func() {
			_, err := req.Accept(context.Background(), nil)
			failed <- err
		}()
		if granted {
			nextMAD[*cm.REP](p)
			p.mad(giveUp)
		}
		if err := wait(t, failed); !errors.Is(err, transport.ErrClosedByPeer) {
			t.Errorf("granted %v: %v", granted, err)
		}
	}
}

// TestLateGiveUp: a peer that has a connection has not given up. A REJ that says so is of a former
// attempt.
func TestLateGiveUp(t *testing.T) {
	r := newRig(t, roce.Config{})
	for _, connect := range r.roles() {
		p, ep := connect()
		p.mad(&cm.REJ{Local: p.id, About: cm.AboutREQ, Reason: cm.Timeout})
		p.silent()
		if err := ep.Err(); err != nil {
			t.Fatal(err)
		}
		p.alive()
		p.end()
	}
}

// TestDREQ sends DREQs that are wrong, for unknown connections, and repeated.
func TestDREQ(t *testing.T) {
	r := newRig(t, roce.Config{})
	for _, connect := range r.roles() {
		p, ep := connect()
		before := r.counters.Stats()
		wrong := p.dreq()
		wrong.QP++
		p.mad(wrong)
		wrong = p.dreq()
		wrong.Local++
		p.mad(wrong)
		r.gained("strays", strays, before, 2)
		other := r.host() // at another address
		other.mad(p.dreq())
		nextMAD[*cm.DREP](other)
		p.silent()
		p.alive()
		p.mad(p.dreq())
		nextMAD[*cm.DREP](p)
		wait(t, ep.Done())
		p.end() // its answer was lost
	}
}

// TestLostDREQ has a peer that does not answer a DREQ, or answers late: it is asked again.
func TestLostDREQ(t *testing.T) {
	r := newRig(t, roce.Config{})
	for n := range 2 {
		p, ep := r.asked()
		ep.Close()
		for range 1 + 3*n {
			if m := nextMAD[*cm.DREQ](p); m.Local != p.theirID || m.Remote != p.id || m.QP != p.qp {
				t.Errorf("got %+v", m)
			}
		}
		p.mad(&cm.DREP{Local: p.theirID, Remote: p.id}) // of another connection
		p.mad(&cm.DREP{Local: p.id, Remote: p.theirID})
		wait(t, ep.Done())
	}
}

// TestOtherMADs sends datagrams to queue pair 1 that are not for the connection manager.
func TestOtherMADs(t *testing.T) {
	r := newRig(t, roce.Config{})
	p := r.host()
	before := r.counters.Stats()
	good := cm.Append(nil, p.req(), 1)
	n := uint64(0)
	for _, at := range []int{0, 1, 2, 3} {
		for _, to := range []byte{0, 4, 0x81, 0xFF} {
			b := append([]byte(nil), good...)
			b[at] = to
			p.madBytes(b)
			n++
		}
	}
	for _, attribute := range []uint16{0, 1, 0x17, 0x18, 0x19, 0x1A, 0xFFFF} {
		b := append([]byte(nil), good...)
		binary.BigEndian.PutUint16(b[16:], attribute)
		p.madBytes(b)
		n++
	}
	for cut := range good {
		p.madBytes(good[:cut])
		n++
	}
	p.madBytes(append(good, 0, 0, 0, 0))
	p.packet(bth.Packet{Opcode: bth.Datagram, QP: cm.QP, DETH: bth.DETH{QKey: 1}, Payload: good})
	p.packet(bth.Packet{Opcode: bth.SendOnly, QP: cm.QP, Payload: good})
	r.gained("bad packets", bad, before, n+3)
	p.silent()
}

// TestFloodOfOneHost has a host ask for more than its share, accepted or not. Others still get in.
func TestFloodOfOneHost(t *testing.T) {
	r := newRig(t, roce.Config{})
	p := r.host()
	flood := func(n int) (refused int) {
		for range n {
			m := p.req()
			m.CommID += 1 << 20 * serial.Add(1)
			p.mad(m)
		}
		p.mad(&cm.DREQ{Local: 1, Remote: 2, QP: 3})
		for {
			h := p.next()
			m, _, err := cm.Parse(h.Payload)
			if err != nil {
				t.Fatal(err)
			}
			switch m := m.(type) {
			case *cm.REJ:
				if m.Reason != cm.NoResources {
					t.Fatalf("got %v", m.Reason)
				}
				refused++
			case *cm.DREP:
				return refused
			}
		}
	}
	before := r.counters.Stats()
	if n := flood(200); n != 200-64 {
		t.Errorf("%d of 200 are refused, want half of what may wait to be accepted", n)
	}
	r.gained("refused", func(s roce.Stats) uint64 { return s.Refused }, before, 200-64)
	other := r.host()
	other.mad(other.req())
	other.silent()
	if conns, _, asked, _ := r.hub.Left(server); conns != 66 || asked != 66 {
		t.Errorf("%d connections, %d requests", conns, asked)
	}
	for range 65 {
		req, err := r.l.Accept(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := req.Reject(nil); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFloodOfHosts has many hosts ask for one connection each. There is a limit.
func TestFloodOfHosts(t *testing.T) {
	r := newRig(t, roce.Config{MaxConns: 8})
	for i := range 100 {
		p := play(t, r.hub, netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), server)
		p.mad(p.req())
		if i >= 7 { // one is the rig's own
			if m := nextMAD[*cm.REJ](p); m.Reason != cm.NoResources {
				t.Fatalf("got %v", m.Reason)
			}
			continue
		}
		p.silent()
	}
	if conns, _, _, _ := r.hub.Left(server); conns != 8 {
		t.Errorf("%d connections", conns)
	}
}

// TestListenerClosedMeanwhile closes the Listener, the last user of the device, while a request
// comes.
func TestListenerClosedMeanwhile(t *testing.T) {
	hub := roce.NewHub(t)
	var l *roce.Listener
	closed := make(chan struct{})
	cfg := hub.On(server, roce.Config{Logger: quiet, Admit: func(netip.Addr) bool {
		l.Close()
		close(closed)
		return true
	}})
	l, err := roce.Listen(t.Context(), "192.0.2.1:20049", cfg)
	if err != nil {
		t.Fatal(err)
	}
	p := play(t, hub, client, server)
	p.mad(p.req())
	wait(t, closed)
}

// TestPortClosed: a dial to a host without the UDP port fails at once.
func TestPortClosed(t *testing.T) {
	r := newRig(t, roce.Config{})
	_, err := roce.Dialer{Config: r.cfg}.Dial(t.Context(), "192.0.2.200:1", nil)
	if !errors.Is(err, roce.ErrNoRoCE) {
		t.Error(err)
	}
}
