package rc

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/roce/bth"
)

// TestFaultyNetwork has both ends send, write and read over networks of all kinds. Everything
// arrives once, in order, and whole.
func TestFaultyNetwork(t *testing.T) {
	for _, tt := range []struct {
		name                       string
		loss, duplicates, reorders float64
	}{
		{"good", 0, 0, 0}, {"lossy", 0.05, 0, 0}, {"very lossy", 0.15, 0, 0},
		{"duplicates", 0, 0.2, 0}, {"reorders", 0, 0, 0.1}, {"all", 0.05, 0.05, 0.05},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for seed := range uint64(20) {
				p := newPair(t, seed)
				p.loss, p.duplicates, p.reorders = tt.loss, tt.duplicates, tt.reorders
				p.transfers(60)
				if t.Failed() {
					t.Fatalf("seed %d", seed)
				}
			}
		})
	}
}

// transfers posts n requests at each end, and checks that they complete in order, and their
// effects.
func (p *pair) transfers(n int) {
	type expectation struct {
		got  func() []byte
		want []byte
	}
	var wants []expectation
	sent := make(map[*side][][]byte)
	posted := make(map[*side][]*transport.WorkRequest)
	for _, ends := range [][2]*side{{p.a, p.b}, {p.b, p.a}} {
		from, to := ends[0], ends[1]
		for range n {
			length := p.rng.IntN(5) * p.rng.IntN(2000)
			data := random(p.rng, length)
			wr := &transport.WorkRequest{Local: scattered(p.rng, data)}
			if p.rng.IntN(2) == 0 {
				wr.Flags |= transport.Signaled
			}
			if p.rng.IntN(5) == 0 {
				wr.Flags |= transport.Fence
			}
			switch p.rng.IntN(4) {
			case 0:
				wr.Op = transport.OpSend
				to.PostRecv(&transport.RecvRequest{Local: scattered(p.rng, make([]byte, length))})
				sent[to] = append(sent[to], data)
			case 1:
				target := make([]byte, length)
				r := to.expose(p.t, target, transport.RemoteWrite)
				wr.Op, wr.Remote = transport.OpWrite, transport.Remote{STag: r.STag, Offset: r.Base}
				wants = append(wants, expectation{func() []byte { return target }, data})
			case 2:
				r := to.expose(p.t, data, transport.RemoteRead)
				wr.Op, wr.Remote = transport.OpRead, transport.Remote{STag: r.STag, Offset: r.Base}
				target := make([]byte, length)
				wr.Local = scattered(p.rng, target)
				wants = append(wants, expectation{func() []byte { return target }, data})
			case 3:
				r := from.expose(p.t, data, transport.RemoteRead)
				wr.Op, wr.Invalidate = transport.OpInvalidate, r.STag
				wr.Local = nil
			}
			from.Post(wr)
			posted[from] = append(posted[from], wr)
		}
	}
	p.run()
	for name, s := range map[string]*side{"a": p.a, "b": p.b} {
		if p.a.err != nil || p.b.err != nil || !s.Idle() {
			p.t.Fatalf("errors %v and %v; %s is idle: %v", p.a.err, p.b.err, name, s.Idle())
		}
		for _, wr := range posted[s] {
			if wr.Flags&transport.Signaled == 0 {
				continue
			}
			if c, ok := s.PopDone(); !ok || c.WR != wr || c.Err != nil {
				p.t.Fatalf("%s: completion %+v, %v; want that of %+v", name, c, ok, wr)
			}
		}
		if _, ok := s.PopDone(); ok {
			p.t.Errorf("%s: one completion too many", name)
		}
		if len(s.messages) != len(sent[s]) {
			p.t.Fatalf("%s: %d messages, want %d", name, len(s.messages), len(sent[s]))
		}
		for i := range s.messages {
			if !bytes.Equal(s.messages[i], sent[s][i]) {
				p.t.Errorf("%s: message %d is another", name, i)
			}
		}
	}
	for i, w := range wants {
		if !bytes.Equal(w.got(), w.want) {
			p.t.Errorf("transfer %d: other bytes", i)
		}
	}
}

// TestGoodNetwork: without losses, nothing is sent twice.
func TestGoodNetwork(t *testing.T) {
	p := newPair(t, 1)
	p.transfers(60)
	for _, s := range []*side{p.a, p.b} {
		if c := s.counts; c.retransmitted+c.timedOut+c.duplicates+c.outOfSequence > 0 {
			t.Errorf("%+v", c)
		}
	}
}

// TestOneLoss: one lost packet costs one NAK, and no timeout.
func TestOneLoss(t *testing.T) {
	p := newPair(t, 1)
	n := 0
	p.drop = func(k *packet) bool {
		if k.Opcode == bth.WriteMiddle {
			n++
		}
		return k.Opcode == bth.WriteMiddle && n == 3
	}
	target := make([]byte, 20*testMTU)
	r := p.b.expose(t, target, transport.RemoteWrite)
	data := random(p.rng, len(target))
	p.a.Post(&transport.WorkRequest{
		Op: transport.OpWrite, Local: []transport.Slice{{Bytes: data}},
		Remote: transport.Remote{STag: r.STag, Offset: r.Base},
	})
	p.run()
	if !bytes.Equal(target, data) || p.a.counts.timedOut != 0 || len(p.a.counts.received) != 1 {
		t.Errorf("equal %v, counted %+v", bytes.Equal(target, data), p.a.counts)
	}
}

func write(r transport.Region, off uint64, b []byte) *transport.WorkRequest {
	return &transport.WorkRequest{
		Op: transport.OpWrite, Flags: transport.Signaled, Local: []transport.Slice{{Bytes: b}},
		Remote: transport.Remote{STag: r.STag, Offset: r.Base + off},
	}
}

func send(b []byte) *transport.WorkRequest {
	return &transport.WorkRequest{
		Op: transport.OpSend, Flags: transport.Signaled, Local: []transport.Slice{{Bytes: b}},
	}
}

// TestRefused: each kind of fault has its NAK, and both ends learn what it was. A lost NAK is sent
// again.
func TestRefused(t *testing.T) {
	type fault struct {
		name string
		post func(p *pair)
		nak  bth.Syndrome
		want error
	}
	for _, tt := range []fault{
		{"write", func(p *pair) {
			p.a.Post(write(transport.Region{STag: 77}, 0, []byte("x")))
		}, bth.NAKAccess, transport.ErrRemoteAccess},
		{"read", func(p *pair) {
			wr := write(transport.Region{STag: 77}, 0, []byte("x"))
			wr.Op = transport.OpRead
			p.a.Post(wr)
		}, bth.NAKAccess, transport.ErrRemoteAccess},
		{"invalidate", func(p *pair) {
			p.b.PostRecv(&transport.RecvRequest{Local: memory(8)})
			wr := send([]byte("x"))
			wr.Op, wr.Invalidate = transport.OpSendInvalidate, 77
			p.a.Post(wr)
		}, bth.NAKAccess, transport.ErrRemoteAccess},
		{"no receive", func(p *pair) { p.a.Post(send([]byte("x"))) },
			bth.NAKOperation, transport.ErrNoReceive},
		{"too long", func(p *pair) {
			p.b.PostRecv(&transport.RecvRequest{Local: memory(testMTU)})
			p.a.Post(send(make([]byte, testMTU+1)))
		}, bth.NAKInvalid, transport.ErrTooLong},
	} {
		for lost := range 3 {
			t.Run(fmt.Sprintf("%s/%d lost", tt.name, lost), func(t *testing.T) {
				p := newPair(t, 1)
				p.drop = func(k *packet) bool {
					if k.Opcode == bth.Acknowledge && lost > 0 {
						lost--
						return true
					}
					return false
				}
				tt.post(p)
				behind := send([]byte("behind"))
				p.a.Post(behind)
				p.run()
				if !errors.Is(p.a.err, tt.want) || !errors.Is(p.a.err, transport.ErrTerminated) {
					t.Errorf("requester: got %v, want %v", p.a.err, tt.want)
				}
				if !errors.Is(p.b.err, tt.want) || errors.Is(p.b.err, transport.ErrTerminated) {
					t.Errorf("responder: got %v, want %v", p.b.err, tt.want)
				}
				if len(p.b.counts.sent) == 0 || p.b.counts.sent[0] != tt.nak {
					t.Errorf("NAKs %v, want %v", p.b.counts.sent, tt.nak)
				}
				flushed := errors.New("flushed")
				p.a.Flush(p.a.err, flushed)
				if c, _ := p.a.PopDone(); !errors.Is(c.Err, tt.want) {
					t.Errorf("the request completed with %v, want %v", c.Err, tt.want)
				}
				if c, _ := p.a.PopDone(); c.WR != behind || c.Err != flushed {
					t.Errorf("the one behind completed with %v, want %v", c.Err, flushed)
				}
				if len(p.b.messages) > 0 {
					t.Errorf("%d messages arrived", len(p.b.messages))
				}
			})
		}
	}
}

// TestNotReady: a message that finds no memory is sent again until there is some, and never too
// early.
func TestNotReady(t *testing.T) {
	p := newPair(t, 1)
	asked := 0
	var last time.Time
	p.memory = func() *transport.RecvRequest {
		if asked++; asked > 1 && asked <= 100 && p.now.Sub(last) < notReadyWait {
			t.Errorf("sent again after %v", p.now.Sub(last))
		}
		last = p.now
		if asked < 100 {
			return nil
		}
		return &transport.RecvRequest{Local: memory(1000)}
	}
	p.b.Promise(2)
	p.a.Post(send(make([]byte, 1000)))
	p.a.Post(send([]byte("second")))
	p.run()
	if p.a.err != nil || len(p.b.messages) != 2 || p.a.counts.timedOut != 0 {
		t.Errorf("error %v, %d messages, counted %+v", p.a.err, len(p.b.messages), p.a.counts)
	}
}

// TestNeverReady: a receiver that is never ready ends the connection, by the retry count or by
// time.
func TestNeverReady(t *testing.T) {
	for retry, want := range map[int]error{0: transport.ErrNoReceive, 3: transport.ErrNoReceive,
		RNRForever: ErrTimeout} {
		p := newPair(t, 1)
		p.a.Requester.cfg.RNRRetry = retry
		p.b.Promise(1)
		p.a.Post(send([]byte("x")))
		p.run()
		if !errors.Is(p.a.err, want) {
			t.Errorf("retry count %d: got %v, want %v", retry, p.a.err, want)
		}
		if n := len(p.a.counts.received); retry != RNRForever && n != retry+1 {
			t.Errorf("retry count %d: %d RNR NAKs, want %d", retry, n, retry+1)
		}
	}
}

// TestSilentPeer: a peer that does not answer ends the connection, soon after PeerTimeout.
func TestSilentPeer(t *testing.T) {
	p := newPair(t, 1)
	p.drop = func(*packet) bool { return true }
	p.a.Post(send([]byte("x")))
	began := p.now
	p.run()
	if took := p.now.Sub(began); !errors.Is(p.a.err, ErrTimeout) || took < 15*time.Second ||
		took > 20*time.Second {
		t.Errorf("got %v after %v, want %v after 15 s", p.a.err, took, ErrTimeout)
	}
	if p.sent > 25 {
		t.Errorf("%d packets were sent to nobody", p.sent)
	}
}

// TestNAKStorm: however many NAKs a peer sends for one packet, it is sent again once.
func TestNAKStorm(t *testing.T) {
	p := newPair(t, 1)
	p.drop = func(*packet) bool { return true }
	p.a.Post(send(make([]byte, 60*testMTU)))
	p.step()
	first := p.sent
	for range 1000 {
		h := bth.Packet{
			Opcode: bth.Acknowledge, PSN: 0xFFFFF0, AETH: bth.AETH{Syndrome: bth.NAKSequence},
		}
		p.arrive(p.a, &h)
		out := &outbox{most: 1000}
		p.a.Requester.Fill(out, p.now)
		p.sent += len(out.packets)
	}
	if p.sent > first+2*64 {
		t.Errorf("%d packets, and after 1000 NAKs %d", first, p.sent)
	}
}

// TestLateRead: if a peer repeats an RDMA Read whose memory is gone, it is refused. If it has
// received the response meanwhile, the connection goes on.
func TestLateRead(t *testing.T) {
	for _, lost := range []bool{false, true} {
		p := newPair(t, 1)
		data := random(p.rng, 3*testMTU)
		r := p.b.expose(t, data, transport.RemoteRead)
		target := make([]byte, len(data))
		wr := write(r, 0, target)
		wr.Op = transport.OpRead
		var request bth.Packet
		p.drop = func(k *packet) bool {
			if k.Opcode == bth.ReadRequest {
				request = k.Packet
			}
			return lost && k.Opcode == bth.ReadLast
		}
		p.a.Post(wr)
		for p.step() && p.a.counts.timedOut == 0 {
		}
		p.b.table.End(r.STag)
		p.arrive(p.b, &request) // late
		p.drop = nil
		p.run()
		if len(p.b.counts.sent) == 0 || p.b.counts.sent[0] != bth.NAKAccess || p.b.err != nil {
			t.Errorf("lost %v: NAKs %v, error %v", lost, p.b.counts.sent, p.b.err)
		}
		if !errors.Is(p.b.LateRefusal(), transport.ErrRemoteAccess) {
			t.Errorf("lost %v: LateRefusal is %v", lost, p.b.LateRefusal())
		}
		if lost {
			if !errors.Is(p.a.err, transport.ErrRemoteAccess) {
				t.Errorf("end waiting for the response: got %v", p.a.err)
			}
			continue
		}
		if p.a.err != nil || !bytes.Equal(target, data) {
			t.Errorf("end with the response: got %v", p.a.err)
		}
		p.a.Post(send([]byte("x")))
		p.b.PostRecv(&transport.RecvRequest{Local: memory(1)})
		p.run()
		if len(p.b.messages) != 1 || p.b.LateRefusal() != nil {
			t.Errorf("%d messages; LateRefusal is %v", len(p.b.messages), p.b.LateRefusal())
		}
	}
}

// TestReadLossTwice: the first packet of a response is lost, and lost again when requested again.
// The packets after it reveal that, without a timeout.
func TestReadLossTwice(t *testing.T) {
	p := newPair(t, 1)
	data := random(p.rng, 20*testMTU)
	r := p.b.expose(t, data, transport.RemoteRead)
	target := make([]byte, len(data))
	wr := write(r, 0, target)
	wr.Op = transport.OpRead
	lost := 0
	p.drop = func(k *packet) bool {
		if k.Opcode == bth.ReadFirst && lost < 2 {
			lost++
			return true
		}
		return false
	}
	p.a.Post(wr)
	p.run()
	if p.a.err != nil || !bytes.Equal(target, data) || lost != 2 || p.a.counts.timedOut != 0 {
		t.Errorf("error %v, equal %v, %d packets lost, counted %+v", p.a.err, bytes.Equal(target, data), lost,
			p.a.counts)
	}
}
