package roce

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport/roce/bth"
)

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
	s.note(5001, now)
	for _, tt := range []struct {
		after time.Duration
		id    uint16
		want  bool
	}{
		{0, 5002, true}, {0, 5002 + 1024, true}, {0, 5002 + 3*1024, false}, {0, 5002 + 1025, true},
		// As with each system call that sends segments.
		{0, 7, true},
		{0, 9000, false}, {0, 30000, false}, {0, 30001, true}, // the sender counts elsewhere
		{0, 32000, false}, {2 * time.Millisecond, 32100, true}, {0, 60000, false},
		{time.Second, 60000, true}, {0, 65535, false}, {0, 100, true},
	} {
		now = now.Add(tt.after)
		got := s.plausible(tt.id, now)
		if got {
			s.note(tt.id, now)
		}
		if got != tt.want {
			t.Errorf("identification %d: plausible %v, want %v", tt.id, got, tt.want)
		}
	}
}
