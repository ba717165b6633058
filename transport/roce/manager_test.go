package roce

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport/roce/bth"
	"github.com/rpcrdma/go-rpcrdma/transport/roce/cm"
)

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
