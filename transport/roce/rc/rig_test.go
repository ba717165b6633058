package rc

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/roce/bth"
	"github.com/rpcrdma/go-rpcrdma/transport/stag"
)

// packet is a packet in flight.
type packet struct {
	bth.Packet
	at time.Time
}

// outbox collects packets.
type outbox struct {
	packets []packet
	most    int
}

func (o *outbox) Packet(h *bth.Packet, n int) ([]byte, bool) {
	if len(o.packets) >= o.most {
		return nil, false
	}
	p := packet{Packet: *h}
	p.Payload = make([]byte, n)
	o.packets = append(o.packets, p)
	return p.Payload, true
}

func (o *outbox) Undo() { o.packets = o.packets[:len(o.packets)-1] }

type counts struct {
	retransmitted, timedOut, duplicates, outOfSequence int
	sent, received                                     []bth.Syndrome
}

func (c *counts) Retransmitted()             { c.retransmitted++ }
func (c *counts) TimedOut()                  { c.timedOut++ }
func (c *counts) Duplicate()                 { c.duplicates++ }
func (c *counts) OutOfSequence()             { c.outOfSequence++ }
func (c *counts) SentNAK(s bth.Syndrome)     { c.sent = append(c.sent, s) }
func (c *counts) ReceivedNAK(s bth.Syndrome) { c.received = append(c.received, s) }

// side is one end of a connection.
type side struct {
	*Requester
	*Responder
	table  *stag.Table
	counts *counts
	err    error

	messages [][]byte
	in       []packet // on their way to this end
}

// pair is a connection over a network in virtual time.
type pair struct {
	t    testing.TB
	a, b *side
	now  time.Time

	rng                        *rand.Rand
	loss, duplicates, reorders float64
	sent                       int
	drop                       func(p *packet) bool
	memory                     func() *transport.RecvRequest // for promises
}

const testMTU = 256

func newPair(t testing.TB, seed uint64) *pair {
	p := &pair{t: t, now: time.Unix(1e9, 0), rng: rand.New(rand.NewPCG(seed, 1))}
	side := func(qp, ours, theirs uint32) *side {
		c := new(counts)
		traffic := &Traffic{Counters: c}
		table := stag.New(1000, nil)
		s := &side{table: table, counts: c}
		s.Requester = NewRequester(RequesterConfig{
			QP: qp, PSN: ours, MTU: testMTU, Depth: 64, Reads: 4, RNRRetry: RNRForever, Window: 64,
			PeerTimeout: 15 * time.Second, Invalidate: table.End, Traffic: traffic,
		})
		s.Responder = NewResponder(ResponderConfig{
			Depth: 64, PeerTimeout: 15 * time.Second, Table: table, Traffic: traffic,
		})
		s.Connect(Peer{QP: qp, PSN: theirs, MTU: testMTU, Reads: 4})
		s.Start()
		return s
	}
	p.a, p.b = side(2, 0xFFFFF0, 5), side(1, 5, 0xFFFFF0)
	return p
}

// step advances the network a little, and reports whether anything more may happen.
func (p *pair) step() bool {
	busy := false
	for _, ends := range [][2]*side{{p.a, p.b}, {p.b, p.a}} {
		from, to := ends[0], ends[1]
		out := &outbox{most: 7}
		more, err := from.Responder.Fill(out)
		from.failed(err)
		if from.err == nil || !more {
			from.Requester.Fill(out, p.now)
		}
		for _, k := range out.packets {
			busy = true
			p.sent++
			if p.drop != nil && p.drop(&k) || p.rng.Float64() < p.loss {
				continue
			}
			copies := 1
			if p.rng.Float64() < p.duplicates {
				copies = 2
			}
			for range copies {
				k.at = p.now.Add(time.Millisecond)
				if p.rng.Float64() < p.reorders {
					k.at = k.at.Add(3 * time.Millisecond)
				}
				to.in = append(to.in, k)
			}
		}
	}
	p.now = p.now.Add(100 * time.Microsecond)
	for _, s := range []*side{p.a, p.b} {
		waiting := s.in[:0]
		for _, k := range s.in {
			if k.at.After(p.now) {
				waiting = append(waiting, k)
				continue
			}
			p.arrive(s, &k.Packet)
			busy = true
		}
		s.in = waiting
		if s.err == nil {
			if d := s.Deadline(); !d.IsZero() && !d.After(p.now) {
				s.failed(s.Expire(p.now))
			}
			s.failed(s.Overdue(p.now))
			busy = busy || !s.Deadline().IsZero() || s.err == nil && !s.PeerDeadline().IsZero()
		}
		busy = busy || len(waiting) > 0
	}
	return busy
}

func (p *pair) arrive(s *side, h *bth.Packet) {
	if h.Opcode.IsResponse() {
		if s.err == nil {
			s.failed(s.Requester.Take(h, p.now))
		}
		return
	}
	var r *transport.RecvRequest
	if s.Wants(h) && p.memory != nil {
		r = p.memory()
	}
	s.failed(s.Responder.Take(h, r, p.now))
	for _, m := range s.Arrived() {
		s.messages = append(s.messages, bytes.Clone(flat(m.Receive.Local)[:m.Len]))
	}
}

func (s *side) failed(err error) {
	if s.err == nil {
		s.err = err
	}
}

// run advances the network until nothing happens any more, by an hour of virtual time at most.
func (p *pair) run() {
	p.t.Helper()
	for end := p.now.Add(time.Hour); p.step(); {
		if p.now.After(end) {
			p.t.Fatal("the network does not come to rest")
		}
	}
}

func flat(list []transport.Slice) (b []byte) {
	for _, s := range list {
		b = append(b, s.Bytes...)
	}
	return b
}

func memory(n int) []transport.Slice { return []transport.Slice{{Bytes: make([]byte, n)}} }

func random(rng *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

// scattered returns memory of n bytes in pieces.
func scattered(rng *rand.Rand, b []byte) (list []transport.Slice) {
	for len(b) > 0 {
		n := min(1+rng.IntN(700), len(b))
		list = append(list, transport.Slice{Bytes: b[:n:n]})
		b = b[n:]
	}
	return list
}

func (s *side) expose(t testing.TB, b []byte, access transport.Access) transport.Region {
	r, err := s.table.Expose([]transport.Slice{{Bytes: b}}, access)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
