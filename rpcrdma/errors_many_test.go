package rpcrdma_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// TestMalformedAtOnce uses a whole grant for malformed messages at once, and then for calls. No
// receive, credit or memory is lost.
func TestMalformedAtOnce(t *testing.T) {
	const grant = 4
	for _, d := range []rpcrdma.Dialect{rpcrdma.RFC8166, rpcrdma.Draft} {
		cfg := malformedConfig(d)
		cfg.Credits = grant
		cfg.ConnMemory, cfg.ServerMemory = grant*2*smallMessage, 2*grant*2*smallMessage
		r := newRig(t, cfg)
		p := r.raw(inline4k)
		p.alive()
		conn := wait(t, r.program.conns)
		call := append(header(1, rpcrdma.TypeMsg).Append(nil), callBytes(1, procBlock, &items{})...)
		var all [][]byte
		for range grant {
			all = append(all, call)
		}
		before := r.ledgers.of(t, conn).state()
		for _, m := range malformedMessages() {
			ok := t.Run(fmt.Sprintf("%v/%s", d, m.name), func(t *testing.T) {
				p.t = t
				want, counters := m.verdict(d).outcome, conn.Stats()
				var bad [][]byte
				for xid := range uint32(grant) {
					bad = append(bad, m.msg(xid))
				}
				p.burst(bad...)
				var count rpcrdma.Stats
				seen := map[string]bool{}
				for range grant {
					count = sum(count, want.count)
					if want.answer != nil {
						seen[string(p.nextBytes())] = true // in any order, because workers answer
					}
				}
				for xid := range uint32(grant) {
					if want.answer != nil && !seen[string(want.answer(xid, grant))] {
						t.Errorf("no answer %x", want.answer(xid, grant))
					}
				}
				waitFor(t, func() bool { return counted(counters, conn.Stats()) == count })
				p.burst(all...)
				for range grant {
					wait(t, r.program.entered)
				}
				for range grant {
					r.program.gate <- struct{}{}
					if h, _ := p.next(); h.Type != rpcrdma.TypeMsg || h.Credits != grant {
						t.Errorf("answer to a call: %v with a grant of %d", h.Type, h.Credits)
					}
				}
				waitFor(t, func() bool { return r.ledgers.of(t, conn).state() == before && r.server.Stats().InFlight == 0 })
				r.memoryBack(p)
			})
			if !ok {
				break
			}
		}
		p.t = t
		p.ep.Close()
		ended(t, conn)
		r.allBack()
	}
}

// TestMalformedRepliesAtOnce answers a whole grant of calls with malformed replies, and then as
// many calls with good ones.
func TestMalformedRepliesAtOnce(t *testing.T) {
	const grant = 4
	for _, d := range []rpcrdma.Dialect{rpcrdma.RFC8166, rpcrdma.Draft} {
		cfg := malformedConfig(d)
		cfg.Credits = grant
		c, p := rawServer(t, cfg, inline4k)
		callAnswered(t, c, p)
		calls := func(t *testing.T) (all []*started, xids []uint32) {
			for range grant {
				all = append(all, start(context.Background(), c, &items{}, nil))
			}
			for range grant {
				h, _ := p.next()
				xids = append(xids, h.XID)
			}
			return all, xids
		}
		before := p.clientLedger.state()
		for _, m := range malformedMessages() {
			v := m.verdict(d)
			if v.ends == nil {
				continue
			}
			ok := t.Run(fmt.Sprintf("%v/%s", d, m.name), func(t *testing.T) {
				p.t = t
				counters := c.Stats()
				all, xids := calls(t)
				for _, xid := range xids {
					p.sendBytes(m.msg(xid))
				}
				want := rpcrdma.Stats{}
				for _, s := range all {
					checkEnd(t, wait(t, s.err), v.ends)
					want = sum(want, endCount(v))
				}
				if v.done {
					for _, xid := range xids {
						p.nextDone(xid, grant)
					}
				}
				want.CallsSent = grant
				if diff := cmp.Diff(want, counted(counters, c.Stats())); diff != "" {
					t.Errorf("counters (-want +got):\n%s", diff)
				}
				// Shows that the RDMA_DONEs were taken, and grants everything again.
				callAnswered(t, c, p)
				all, xids = calls(t)
				for _, xid := range xids {
					p.send(header(xid, rpcrdma.TypeMsg), replyHeader(xid), be32(0, 7))
				}
				for _, s := range all {
					if err := wait(t, s.err); err != nil {
						t.Error(err)
					}
				}
				waitFor(t, func() bool {
					_, used, _ := c.Credits()
					return p.clientLedger.state() == before && used == 0
				})
			})
			if !ok {
				break
			}
		}
		p.t = t
	}
}

// TestTruncatedReplies cuts replies off at every byte of their headers. One that still has the four
// fixed words ends its call. A shorter one is ignored.
func TestTruncatedReplies(t *testing.T) {
	for _, d := range []rpcrdma.Dialect{rpcrdma.RFC8166, rpcrdma.Draft} {
		c, p := rawServer(t, malformedConfig(d), inline4k)
		for _, h := range headersToCut() {
			t.Run(fmt.Sprintf("%v/%v %v", d, h.Type, h.Err), func(t *testing.T) {
				p.t = t
				h.Version, h.Credits = rpcrdma.ProtocolVersion, asked
				for n := range h.Len() {
					s := start(context.Background(), c, &items{}, nil)
					call, _ := p.next()
					before := c.Stats()
					h.XID = call.XID
					p.sendBytes(h.Append(nil)[:n])
					if n < chunks.FixedLen {
						p.send(header(h.XID, rpcrdma.TypeMsg), replyHeader(h.XID), be32(0, 7))
						if err := wait(t, s.err); err != nil {
							t.Errorf("%d bytes: %v", n, err)
						}
					} else {
						checkEnd(t, wait(t, s.err), rpcrdma.ErrMalformed)
					}
					if diff := cmp.Diff(rpcrdma.Stats{Malformed: 1}, counted(before, c.Stats())); diff != "" {
						t.Errorf("%d bytes: counters (-want +got):\n%s", n, diff)
					}
				}
				callAnswered(t, c, p) // its reply is the next message
			})
		}
		p.t = t
	}
}

// TestCreditsOfErrors sends bad headers that ask for, or grant, between 0 and 2^32-1 credits.
func TestCreditsOfErrors(t *testing.T) {
	const most = 8
	for _, d := range []rpcrdma.Dialect{rpcrdma.RFC8166, rpcrdma.Draft} {
		for _, tt := range []struct{ n, want uint32 }{{0, 1}, {1, 1}, {most, most}, {most + 1, most}, {1 << 31, most}, {1<<32 - 1, most}} {
			t.Run(fmt.Sprintf("%v/%d", d, tt.n), func(t *testing.T) {
				r := newRig(t, rpcrdma.Config{Dialect: d, Credits: most})
				p := r.raw(inline4k)
				for _, msg := range [][]byte{be32(9, 1, tt.n, 77), be32(9, 2, tt.n, 0), be32(9, 1, tt.n, 0, 0, 0, 0)} {
					p.sendBytes(msg)
					if got, _ := p.next(); got.Type != rpcrdma.TypeError || got.Credits != tt.want {
						t.Errorf("answer %v with a grant of %d, want %d", got.Type, got.Credits,
							tt.want)
					}
				}
				c, s := rawServer(t, rpcrdma.Config{Dialect: d, Credits: most}, inline4k)
				for _, words := range [][]uint32{{1, tt.n, 4, 2}, {2, tt.n, 4, 1, 1, 1}, {1, tt.n, 77}, {2, tt.n, 0}} {
					callAnswered(t, c, s) // grants all
					call := start(context.Background(), c, &items{}, nil)
					h, _ := s.next()
					// Not a reply, so it grants nothing.
					s.sendBytes(be32(h.XID+1, 1, 1, 4, 2))
					waitFor(t, func() bool { return c.Stats().UnknownXID > 0 })
					if grant, _, _ := c.Credits(); grant != most {
						t.Errorf("%x: a grant of %d by an RDMA_ERROR of no call, want the %d of before", words, grant, most)
					}
					s.sendBytes(append(be32(h.XID), be32(words...)...))
					if wait(t, call.err) == nil {
						t.Error("no error")
					}
					if grant, inUse, _ := c.Credits(); grant != int(min(tt.n, most)) || inUse != 0 {
						t.Errorf("%x: a grant of %d and %d credits in use, want %d and none",
							words, grant, inUse, min(tt.n, most))
					}
				}
				callAnswered(t, c, s)
			})
		}
	}
}
