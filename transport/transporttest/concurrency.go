package transporttest

import (
	"bytes"
	"encoding/binary"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

var concurrencyTests = []pairTest{
	{"concurrency/calls both ways", Options{SendDepth: 128, RecvDepth: 128}, concurrentCalls},
	{"concurrency/connections", Options{}, concurrentConnections},
}

const (
	callers  = 8
	calls    = 5 * rounds
	callSize = 3000
)

// side is an end that makes calls, on one goroutine for each caller, and answers the peer's calls.
type side struct {
	*end
	peer    *side
	slots   [callers]transport.Region // of this end, one for each caller of the peer
	memory  [callers]transport.Slice
	replies [callers]chan struct{}
}

// A message has a kind, a caller and a number.
const (
	call = iota
	reply
)

func (p *pair) sides() (x, y *side) {
	x, y = &side{end: p.a}, &side{end: p.b}
	x.peer, y.peer = y, x
	for _, s := range []*side{x, y} {
		s.inbox.hook = s.received
		s.receives(2*callers, 8)
		for i := range callers {
			s.memory[i] = s.alloc(callSize)
			s.slots[i] = s.expose(rw, s.memory[i])
			s.replies[i] = make(chan struct{}, 1)
		}
	}
	return x, y
}

func (s *side) send(kind, caller, number int) {
	m := []byte{byte(kind), byte(caller), 0, 0}
	binary.BigEndian.PutUint16(m[2:], uint16(number))
	if _, err := s.ledger.post(s, with(transport.Signaled, send(s.hold(m)))); err != nil {
		s.t.Errorf("%s: Post: %v", s.name, err)
	}
}

func (s *side) received(m message) {
	if err := s.inbox.post(s, m.Receive); err != nil {
		s.t.Errorf("%s: PostRecv: %v", s.name, err)
	}
	caller, number := int(m.data[1]), int(binary.BigEndian.Uint16(m.data[2:]))
	if m.data[0] == reply {
		s.replies[caller] <- struct{}{}
		return
	}
	if !bytes.Equal(s.memory[caller].Bytes, pattern(callSize, uint64(caller*calls+number))) {
		s.t.Errorf("%s: call %d of caller %d came before its data", s.name, number, caller)
	}
	s.send(reply, caller, number)
}

// call makes the calls of one caller: a Write, a Send, and after the reply a Read of what was
// written.
func (s *side) call(caller int) {
	for number := range calls {
		want := pattern(callSize, uint64(caller*calls+number))
		if _, err := s.ledger.post(s, write(s.peer.slots[caller], 0, s.hold(want))); err != nil {
			s.t.Errorf("%s: Post: %v", s.name, err)
			return
		}
		s.send(call, caller, number)
		select {
		case <-s.replies[caller]:
		case <-s.Done():
			s.t.Errorf("%s: the connection ended: %v", s.name, s.Err())
			return
		}
		back := s.alloc(callSize)
		window := s.expose(transport.RemoteWrite, back)
		entries, err := s.ledger.post(s, with(transport.Signaled, read(s.peer.slots[caller], 0, back)))
		if err != nil {
			s.t.Errorf("%s: Post: %v", s.name, err)
			return
		}
		if err := s.completion(entries[0]); err != nil {
			s.t.Errorf("%s: %v: %v", s.name, entries[0], err)
			return
		}
		if !bytes.Equal(back.Bytes, want) {
			s.t.Errorf("%s: read back something else", s.name)
		}
		s.Revoke(window)
		s.Info()
		if err := s.Err(); err != nil {
			s.t.Errorf("%s: Err: %v", s.name, err)
		}
	}
}

func concurrentCalls(p *pair) {
	x, y := p.sides()
	p.start()
	var all sync.WaitGroup
	for caller := range callers {
		all.Go(func() { x.call(caller) })
		all.Go(func() { y.call(caller) })
	}
	waitAll(p.t, "calls", &all)
}

// Connections come and go at the same time, some of them badly.
func concurrentConnections(p *pair) {
	p.start()
	var pairs []*pair
	for range 10 {
		pairs = append(pairs, p.connect().start())
	}
	var all sync.WaitGroup
	for i, q := range pairs {
		all.Go(func() {
			for range 10 {
				q.alive()
			}
			dead := q.b.expose(rw, q.b.alloc(8))
			q.b.Revoke(dead)
			switch i % 3 {
			case 0:
				q.a.post(with(transport.Signaled, write(dead, 0, q.a.alloc(8))))
				q.endedBy(transport.ErrSTag)
			case 1:
				q.b.Close()
				q.a.ended()
			}
		})
	}
	waitAll(p.t, "connections", &all)
	p.alive()
}
