package rc

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/roce/bth"
)

// requestKinds are the requests that answers depend on.
var requestKinds = []struct {
	name string
	op   transport.Op
	n    int // bytes
}{
	{"Send", transport.OpSend, 10},
	{"long Send", transport.OpSend, 2*testMTU + 3},
	{"Write", transport.OpWrite, 10},
	{"long Write", transport.OpWrite, 2*testMTU + 3},
	{"Read", transport.OpRead, 10},
	{"long Read", transport.OpRead, 2*testMTU + 3},
}

// forPairs runs a test for each kind of request in front of each kind.
func forPairs(t *testing.T, test func(t *testing.T, kinds [2]int)) {
	for last := range requestKinds {
		for repeated := range requestKinds {
			name := fmt.Sprintf("%s, then %s", requestKinds[repeated].name, requestKinds[last].name)
			t.Run(name, func(t *testing.T) { test(t, [2]int{repeated, last}) })
		}
	}
}

// transfer is a request of a test, and its effect.
type transfer struct {
	op    transport.Op
	data  []byte
	local []byte // of the work request
	far   []byte // the peer's memory; nil for a Send
}

func newTransfer(rng *rand.Rand, kind int) *transfer {
	k := requestKinds[kind]
	x := &transfer{op: k.op, data: random(rng, k.n)}
	switch k.op {
	case transport.OpSend:
		x.local = x.data
	case transport.OpWrite:
		x.local, x.far = x.data, make([]byte, k.n)
	default:
		x.local, x.far = make([]byte, k.n), x.data
	}
	return x
}

// carriedOut reports whether a Read or Write has moved its bytes.
func (x *transfer) carriedOut() bool { return x.op == transport.OpSend || bytes.Equal(x.local, x.far) }

// losses loses packets by the bits of a mask, the first packet by the lowest bit.
type losses uint

func (l *losses) lose() bool {
	lost := *l&1 != 0
	*l >>= 1
	return lost
}

// lossesMost is how many masks there are: all combinations of the first seven packets. With more,
// rxe's retransmission of a long message may meet acknowledgements of all of it, which it does not
// always survive. Nothing completes wrongly then, either.
const lossesMost losses = 1 << 7

// TestLostAnswers loses each combination of the first packets of two requests and their answers. A
// request that completes has been carried out, once.
func TestLostAnswers(t *testing.T) {
	t.Run("rxe requests", func(t *testing.T) {
		for _, how := range []arrival{oneByOne, together, twice} {
			t.Run(string(how), func(t *testing.T) {
				forPairs(t, func(t *testing.T, kinds [2]int) {
					for lost := range lossesMost {
						if err := rxeRequests(t, kinds, lost, how); err != nil {
							t.Fatalf("packets %#b lost: %v", lost, err)
						}
					}
				})
			})
		}
	})
	for _, byLast := range []bool{false, true} {
		t.Run(fmt.Sprintf("rxe responds, with its last PSN: %v", byLast), func(t *testing.T) {
			forPairs(t, func(t *testing.T, kinds [2]int) {
				for lost := range lossesMost {
					if err := rxeResponds(t, kinds, lost, byLast); err != nil {
						t.Fatalf("packets %#b lost: %v", lost, err)
					}
				}
			})
		})
	}
}

// arrival is how requests arrive.
type arrival string

const (
	oneByOne arrival = "one by one"
	together arrival = "answered together"
	twice    arrival = "once more, late" // at first
)

// rxeRequests has a model of rdma_rxe make requests of kinds at our responder.
func rxeRequests(t *testing.T, kinds [2]int, lost losses, how arrival) error {
	p := newPair(t, uint64(lost))
	x := rxeRequesterOf(p, kinds)
	for round := range 100 {
		x.sent = 0
		var late []*bth.Packet
		for h := x.rxe.send(); h != nil; h = x.rxe.send() {
			x.sent++
			if lost.lose() {
				continue
			}
			p.arrive(p.b, h)
			if how != together {
				x.answer(p, &lost)
			}
			if how == twice && round == 0 {
				late = append(late, h)
			}
		}
		for _, h := range late {
			p.arrive(p.b, h)
			x.answer(p, &lost)
		}
		x.answer(p, &lost)
		if err := x.check(p); err != nil {
			return err
		}
		if x.rxe.head == len(x.rxe.queue) && x.sent == 0 {
			break
		}
		if x.sent == 0 && !x.rxe.retry {
			x.rxe.timeout()
		}
	}
	var want [][]byte
	for i, q := range x.rxe.queue {
		if q.state != rxeComplete {
			return fmt.Errorf("request %d does not complete", i)
		}
		if x.transfers[i].op == transport.OpSend {
			want = append(want, x.transfers[i].data)
		}
	}
	if !slices.EqualFunc(p.b.messages, want, bytes.Equal) {
		return fmt.Errorf("%d messages arrived, want %d", len(p.b.messages), len(want))
	}
	return nil
}

// rxeRequesting is a model of rdma_rxe with requests to end b.
type rxeRequesting struct {
	rxe       *rxeRequester
	transfers []*transfer
	sent      int // packets in this round
}

func rxeRequesterOf(p *pair, kinds [2]int) *rxeRequesting {
	x := &rxeRequesting{rxe: newRXERequester(p.b.Responder.wire.psn(0))}
	for _, k := range kinds {
		f := newTransfer(p.rng, k)
		x.transfers = append(x.transfers, f)
		var far transport.Region
		if f.op == transport.OpSend {
			p.b.PostRecv(&transport.RecvRequest{Local: memory(len(f.data))})
		} else {
			far = p.b.expose(p.t, f.far, transport.RemoteRead|transport.RemoteWrite)
		}
		x.rxe.post(f.op, f.local, far)
	}
	return x
}

// answer has end b answer what has come.
func (x *rxeRequesting) answer(p *pair, lost *losses) {
	for _, k := range p.sentByResponder(p.b) {
		if !lost.lose() {
			x.rxe.take(&k.Packet)
		}
	}
}

func (x *rxeRequesting) check(p *pair) error {
	if err := errors.Join(x.rxe.err, p.b.err); err != nil {
		return err
	}
	for i, q := range x.rxe.queue {
		if q.state == rxeComplete && !x.transfers[i].carriedOut() {
			return fmt.Errorf("request %d is complete, and its bytes are not there", i)
		}
	}
	return nil
}

// sentByResponder returns what the responder of a side sends now.
func (p *pair) sentByResponder(s *side) []packet {
	out := &outbox{most: 1000}
	if _, err := s.Responder.Fill(out); err != nil {
		s.failed(err)
	}
	return out.packets
}

// rxeResponds has our requester make requests of kinds at a model of rdma_rxe.
func rxeResponds(t *testing.T, kinds [2]int, lost losses, byLast bool) error {
	p := newPair(t, uint64(lost))
	start := p.a.Requester.wire.psn(0)
	rxe := &rxeResponder{byLast: byLast, psn: start, acks: start, memory: make(map[uint32][]byte)}
	var transfers []*transfer
	var want [][]byte
	for i, k := range kinds {
		f := newTransfer(p.rng, k)
		transfers = append(transfers, f)
		key := uint32(i + 1)
		rxe.memory[key] = f.far
		wr := write(transport.Region{STag: transport.STag(key)}, 0, f.local)
		wr.Op = f.op
		p.a.Post(wr)
		if f.op == transport.OpSend {
			want = append(want, f.data)
		}
	}
	complete := 0
	for rounds := 0; !p.a.Idle(); rounds++ {
		if rounds > 100 {
			return fmt.Errorf("%d requests complete", complete)
		}
		out := &outbox{most: 1000}
		p.a.Requester.Fill(out, p.now)
		for _, k := range out.packets {
			if lost.lose() {
				continue
			}
			for _, a := range rxe.take(&k.Packet) {
				if !lost.lose() {
					p.arrive(p.a, a)
				}
			}
		}
		for c, ok := p.a.PopDone(); ok; c, ok = p.a.PopDone() {
			if !transfers[complete].carriedOut() {
				return fmt.Errorf("request %d is complete, and its bytes are not there", complete)
			}
			if c.Err != nil {
				return c.Err
			}
			complete++
		}
		if p.a.err != nil {
			return p.a.err
		}
		p.now = p.now.Add(time.Millisecond)
		if len(out.packets) == 0 {
			if d := p.a.Deadline(); d.After(p.now) {
				p.now = d
			}
			p.a.failed(p.a.Expire(p.now))
		}
	}
	if complete != len(transfers) || !slices.EqualFunc(rxe.arrived, want, bytes.Equal) {
		return fmt.Errorf("%d requests complete, %d messages arrived; want %d and %d", complete,
			len(rxe.arrived), len(transfers), len(want))
	}
	return nil
}

// TestReplies: what a request is answered by behind two others that have been carried out. An
// acknowledgement has the PSN of the last packet of a Send or Write, and a NAK the expected PSN.
// Only responses have PSNs of Reads.
func TestReplies(t *testing.T) {
	forPairs(t, func(t *testing.T, kinds [2]int) {
		type reply struct {
			o   bth.Opcode
			n   uint64 // of the packet in the PSN
			s   bth.Syndrome
			msn uint32
		}
		var first [3]uint64 // packets
		var taken uint64    // the last one of a Send or Write
		for i, k := range kinds {
			first[i+1] = first[i] + packetsOf(requestKinds[k].n, testMTU)
			if requestKinds[k].op != transport.OpRead {
				taken = first[i+1] - 1
			}
		}
		end := first[2]
		// response is the one of a Read of one or three packets that begins at packet n.
		response := func(n, packets uint64, msn uint32) []reply {
			if packets == 1 {
				return []reply{{bth.ReadOnly, n, bth.ACK, msn}}
			}
			return []reply{
				{bth.ReadFirst, n, bth.ACK, msn}, {bth.ReadMiddle, n + 1, bth.ACK, msn},
				{bth.ReadLast, n + 2, bth.ACK, msn},
			}
		}
		again := func(i int) []reply {
			if requestKinds[kinds[i]].op == transport.OpRead {
				return response(first[i], first[i+1]-first[i], 2)
			}
			return []reply{{bth.Acknowledge, taken, bth.ACK, 2}}
		}
		for _, tt := range []struct {
			name string
			// request returns the packet, given those of the two requests and memory to read.
			request func(p *pair, sent [2][]*bth.Packet, r transport.Region) *bth.Packet
			want    []reply
		}{
			{"the first again", func(_ *pair, sent [2][]*bth.Packet, _ transport.Region) *bth.Packet {
				return sent[0][0]
			}, again(0)},
			{"the last again", func(_ *pair, sent [2][]*bth.Packet, _ transport.Region) *bth.Packet {
				return sent[1][len(sent[1])-1]
			}, again(1)},
			{"new Send", func(p *pair, _ [2][]*bth.Packet, _ transport.Region) *bth.Packet {
				p.b.PostRecv(&transport.RecvRequest{Local: memory(1)})
				return p.request(bth.SendOnly, int(end), []byte{1})
			}, []reply{{bth.Acknowledge, end, bth.ACK, 3}}},
			{"new Read", func(p *pair, _ [2][]*bth.Packet, r transport.Region) *bth.Packet {
				h := p.request(bth.ReadRequest, int(end), nil)
				h.RETH = bth.RETH{Addr: r.Base, RKey: uint32(r.STag), Len: 2*testMTU + 1}
				return h
			}, response(end, 3, 3)},
			{"gap", func(p *pair, _ [2][]*bth.Packet, _ transport.Region) *bth.Packet {
				return p.request(bth.SendOnly, int(end)+1, []byte{1})
			}, []reply{{bth.Acknowledge, end, bth.NAKSequence, 2}}},
			{"not ready", func(p *pair, _ [2][]*bth.Packet, _ transport.Region) *bth.Packet {
				p.b.Promise(1)
				return p.request(bth.SendOnly, int(end), []byte{1})
			}, []reply{{bth.Acknowledge, end, bth.RNRAfter(notReadyWait), 2}}},
			{"refused", func(p *pair, _ [2][]*bth.Packet, _ transport.Region) *bth.Packet {
				return p.request(bth.SendOnly, int(end), []byte{1})
			}, []reply{{bth.Acknowledge, end, bth.NAKOperation, 2}}},
			{"what is not supported, with an old PSN",
				func(p *pair, _ [2][]*bth.Packet, _ transport.Region) *bth.Packet {
					return p.request(bth.CompareSwap, 0, nil)
				}, nil},
		} {
			t.Run(tt.name, func(t *testing.T) {
				p := newPair(t, 1)
				x := rxeRequesterOf(p, kinds)
				var sent [2][]*bth.Packet
				for h := x.rxe.send(); h != nil; h = x.rxe.send() {
					i := 0
					if p.b.Responder.wire.near(first[1], h.PSN) >= 0 {
						i = 1
					}
					sent[i] = append(sent[i], h)
					p.arrive(p.b, h)
				}
				p.sentByResponder(p.b) // lost
				readable := p.b.expose(t, make([]byte, 3*testMTU), transport.RemoteRead)
				p.arrive(p.b, tt.request(p, sent, readable))
				var got []reply
				for _, k := range p.sentByResponder(p.b) {
					n := p.b.Responder.wire.near(0, k.PSN)
					got = append(got, reply{k.Opcode, uint64(n), k.AETH.Syndrome, k.AETH.MSN})
				}
				if !slices.Equal(got, tt.want) {
					t.Errorf("answered by %v, want %v", got, tt.want)
				}
			})
		}
	})
}
