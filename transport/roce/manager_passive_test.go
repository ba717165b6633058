package roce

import (
	"errors"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/roce/bth"
	"github.com/rpcrdma/go-rpcrdma/transport/roce/cm"
)

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
			ep, err := req.Accept(t.Context(), transport.Private([]byte("welcome")))
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

// TestNoRTU: a packet of the connection replaces a lost RTU. Without either, the connection is
// given up and the peer is notified.
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
