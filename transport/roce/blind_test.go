package roce

import (
	"errors"
	"fmt"
	"math/bits"
	"net/netip"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/roce/bth"
	"github.com/rpcrdma/go-rpcrdma/transport/roce/cm"
	"github.com/rpcrdma/go-rpcrdma/transport/roce/rc"
)

// guesses are packets of somebody who has guessed a queue pair number, but no PSN: requests and
// answers with PSNs far and near that are not due, and notices of congestion.
func guesses(qp, request, answer uint32) (all []bth.Packet) {
	for _, d := range []uint32{1, 2, 1000, 1 << 16, 1 << 20, 1<<23 - 1, 1 << 23, bth.Mask24} {
		request, answer := (request+d)&bth.Mask24, (answer+d)&bth.Mask24
		all = append(all,
			bth.Packet{Opcode: bth.SendOnly, PSN: request, AckReq: true},
			bth.Packet{Opcode: bth.SendMiddle, PSN: request, Payload: []byte("guess")},
			bth.Packet{Opcode: bth.WriteOnly, PSN: request, RETH: bth.RETH{RKey: 1, Len: 1}},
			bth.Packet{Opcode: bth.ReadRequest, PSN: request, RETH: bth.RETH{RKey: 1, Len: 1}},
			bth.Packet{Opcode: bth.CompareSwap, PSN: request, Payload: make([]byte, 28)},
			bth.Packet{Opcode: bth.Acknowledge, PSN: answer, AETH: bth.AETH{Syndrome: bth.ACK}},
			bth.Packet{Opcode: bth.Acknowledge, PSN: answer, AETH: bth.AETH{Syndrome: bth.NAKAccess}},
			bth.Packet{Opcode: bth.Acknowledge, PSN: answer, AETH: bth.AETH{Syndrome: bth.RNR}},
			bth.Packet{Opcode: bth.ReadOnly, PSN: answer, Payload: []byte("guess")},
			bth.Packet{Opcode: bth.CNP, PSN: request, BECN: true, Payload: make([]byte, 16)})
	}
	for i := range all {
		all[i].QP = qp
	}
	return all
}

// TestGuessedPair: whoever has guessed a queue pair number, but no PSN, does not end the
// connection, idle or not, and does not have packets of the peer dropped.
func TestGuessedPair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlayed(t)
		ep, m, rep := p.up(p.listen(Config{KeepAlive: -1}))
		psn := rep.PSN
		write := func() {
			t.Helper()
			p.heard()
			p.packet(theirIP, &bth.Packet{
				Opcode: bth.WriteOnly, QP: rep.QP, PSN: psn & bth.Mask24, AckReq: true,
			}, false)
			all := p.heard()
			if len(all) != 1 || all[0].AETH.Syndrome != bth.ACK || all[0].PSN != psn&bth.Mask24 {
				t.Errorf("the peer's packet was answered with %+v", all)
			}
			psn++
		}
		p.id = 30000
		write()
		for _, id := range []uint16{0, 5000, 45000} { // the guesses' identification
			real := p.id
			for _, h := range guesses(rep.QP, psn, m.PSN) {
				p.id = id
				p.packet(theirIP, &h, false)
			}
			p.id = real
			write()
			time.Sleep(10 * DefaultPeerTimeout)
		}
		write()
		if err := ep.Err(); err != nil {
			t.Errorf("ended with %v", err)
		}
		ep.Close()
		time.Sleep(time.Minute)
	})
}

// TestGuessedHalfOpen: only its peer establishes a connection. Other packets to its number do not,
// and neither do messages with only one of the communication ids.
func TestGuessedHalfOpen(t *testing.T) {
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
			_, err := req.Accept(t.Context(), nil)
			failed <- err
		}()
		synctest.Wait()
		rep := first(p.answer()).(*cm.REP)
		for _, h := range guesses(rep.QP, rep.PSN, m.PSN) {
			p.packet(theirIP, &h, false)
		}
		for _, m := range []cm.Message{
			&cm.REJ{Local: m.CommID + 1, Remote: rep.Local, Reason: cm.ConsumerDefined},
			&cm.RTU{Local: m.CommID + 1, Remote: rep.Local},
			&cm.DREQ{Local: m.CommID + 1, Remote: rep.Local, QP: rep.QP},
			&cm.DREQ{Local: m.CommID, Remote: rep.Local, QP: rep.QP + 1},
			&cm.MRA{Local: m.CommID + 1, Remote: rep.Local, About: cm.AboutREP, ServiceTimeout: 31},
		} {
			p.says(theirIP, m, 78)
		}
		select {
		case err := <-failed:
			t.Fatalf("the setup has ended: %v", err)
		default:
		}
		p.heard()
		time.Sleep(firstRetry + time.Millisecond)
		synctest.Wait()
		p.same("REP again", first(p.answer()), rep)
		time.Sleep(DefaultSetupTimeout)
		if err := <-failed; !errors.Is(err, ErrPeerTimeout) {
			t.Errorf("got %v, want %v", err, ErrPeerTimeout)
		}
		time.Sleep(time.Minute)
	})
}

// TestGuessedKeepAlive: guesses do not keep up a connection whose peer has gone.
func TestGuessedKeepAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlayed(t)
		ep, m, rep := p.up(p.listen(Config{}))
		for range 3 {
			for _, h := range guesses(rep.QP, rep.PSN, m.PSN) {
				p.packet(theirIP, &h, false)
			}
			p.heard()
			time.Sleep(DefaultKeepAlive/3 + time.Millisecond)
		}
		synctest.Wait()
		if all := p.heard(); len(all) != 1 || all[0].Opcode != bth.WriteOnly {
			t.Errorf("sent %+v, want a question", all)
		}
		time.Sleep(2 * DefaultPeerTimeout)
		if !errors.Is(ep.Err(), ErrPeerTimeout) {
			t.Errorf("ended with %v", ep.Err())
		}
		time.Sleep(time.Minute)
	})
}

// TestGuessedDREP: an answer to a DREQ that was not sent does not keep the peer from learning of
// the end.
func TestGuessedDREP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlayed(t)
		ep, m, rep := p.up(p.listen(Config{}))
		p.says(theirIP, &cm.DREP{Local: m.CommID, Remote: rep.Local}, 1)
		ep.Close()
		synctest.Wait()
		if _, ok := first(p.answer()).(*cm.DREQ); !ok {
			t.Error("the peer does not learn of the end")
		}
		time.Sleep(firstRetry + time.Millisecond)
		synctest.Wait()
		if len(p.heard()) == 0 {
			t.Error("the DREQ is not sent again")
		}
		time.Sleep(time.Minute)
	})
}

// TestOdds computes what a packet of somebody who sees none must meet, of all PSNs, and checks that
// security-bounds.md says so.
func TestOdds(t *testing.T) {
	const (
		all  = 1 << 24 // queue pair numbers, and PSNs
		pair = 24      // bits of a queue pair number
		id   = 32      // of a communication id
	)
	psns := func(does func(*bth.Packet) bool) (n int) {
		h := bth.Packet{Opcode: bth.SendOnly}
		for h.PSN = range uint32(all) {
			if does(&h) {
				n++
			}
		}
		return n
	}
	naks := &nakCounter{tally: tally{new(Counters)}}
	req := rc.NewRequester(rc.RequesterConfig{
		MTU: minMTU, Depth: windowPackets, Window: windowPackets,
		Traffic: &rc.Traffic{Counters: naks},
	})
	resp := rc.NewResponder(rc.ResponderConfig{Traffic: &rc.Traffic{Counters: naks}})
	resp.Connect(rc.Peer{PSN: 1 << 20, MTU: minMTU})
	now := time.Unix(1e9, 0)
	path := bth.NewPath(netip.AddrPortFrom(ourIP, UDPPort), netip.AddrPortFrom(theirIP, UDPPort))
	fill := func() {
		for req.Room(1) {
			req.Post(&transport.WorkRequest{Op: transport.OpWrite})
		}
		out := newBatch(true)
		out.begin(&path, netip.AddrPort{}, nil)
		req.Fill(out, now)
	}
	fill()
	for psn := range uint32(windowPackets) { // which opens the window
		h := bth.Packet{Opcode: bth.Acknowledge, PSN: psn, AETH: bth.AETH{Syndrome: bth.ACK}}
		if err := req.Take(&h, now); err != nil {
			t.Fatal(err)
		}
		for _, ok := req.PopDone(); ok; _, ok = req.PopDone() {
		}
		fill()
	}
	outstanding := psns(req.Awaits)
	next := psns(resp.Expects)
	ahead := psns(func(h *bth.Packet) bool {
		if resp.Expects(h) { // it would be carried out
			return false
		}
		before := naks.sent
		now = now.Add(time.Minute)
		return resp.Take(h, nil, now) == nil && naks.sent > before
	})
	behind := naks.again
	among := func(n int) int { return bits.Len(uint(all/n)) - 1 } // as a power of two
	odds := func(bits int) string { return fmt.Sprintf("1 in 2^%d", bits) }
	for guess, chance := range map[string]string{
		"the queue pair number": odds(pair),
		fmt.Sprintf("the queue pair number and one of 2^%d PSNs behind", pair-among(behind)): odds(
			pair + among(behind)),
		fmt.Sprintf("the queue pair number and one of 2^%d PSNs ahead", pair-among(ahead)): odds(
			pair + among(ahead)),
		fmt.Sprintf("the queue pair number and one of n PSNs, %d at most", outstanding): fmt.Sprintf(
			"n in 2^%d: %s at best", 2*pair, odds(pair+among(outstanding))),
		"the queue pair number and the next PSN": odds(pair + among(next)),
		"our communication id":                   odds(id),
		"both communication ids":                 odds(2*id) + "; " + odds(id) + " if",
		"both communication ids and the queue pair number": odds(2*id+pair) + "; " +
			odds(id+pair) + " if",
	} {
		documented(t, "| "+guess+" | "+chance)
	}
	took := func(bits int, unit float64, name string) string {
		const perSecond = 1e6
		return fmt.Sprintf("2^%d %.0f %s", bits, float64(uint64(1)<<bits)/perSecond/unit, name)
	}
	documented(t, strings.Join([]string{
		took(pair, 1, "seconds"), took(pair+among(ahead), 60, "minutes"),
		took(pair+among(outstanding), 24*3600, "days"),
		took(pair+among(next), 365*24*3600, "years"),
	}, ", "))
	documented(t, fmt.Sprintf("PSNs up to 2^%d ahead", bits.Len(uint(ahead))-1))
}

// documented checks that security-bounds.md has some text about the numbers of RoCE.
func documented(t *testing.T, text string) {
	t.Helper()
	b, err := os.ReadFile("../../docs/security-bounds.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, _ := strings.Cut(string(b), "## Numbers of RoCE")
	if !strings.Contains(strings.Join(strings.Fields(part), " "), text) {
		t.Errorf("security-bounds.md does not say %q", text)
	}
}

// nakCounter counts NAKs and duplicates.
type nakCounter struct {
	tally
	sent, again int
}

func (c *nakCounter) SentNAK(bth.Syndrome) { c.sent++ }
func (c *nakCounter) Duplicate()           { c.again++ }
