package transporttest

import (
	"encoding/binary"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

var sharedTests = []pairTest{
	{"shared/memory when a message comes", Options{}, sharedWhenNeeded},
	{"shared/one promise too few", Options{}, sharedOneTooMany},
	{"shared/too long", Options{}, sharedTooLong},
	{"shared/posted receives first", Options{}, sharedPostedFirst},
	{"shared/depth", Options{RecvDepth: 8}, sharedDepth},
	{"shared/no memory", Options{SendDepth: 64}, sharedNone},
	{"shared/resumed before it is refused", Options{}, sharedResumedEarly},
	{"shared/again and again", Options{SendDepth: 64, RecvDepth: 64}, sharedAgain},
	{"shared/reads wait with messages", Options{}, sharedReads},
	{"shared/end without memory", Options{SendDepth: 64}, sharedEnd},
	{"shared/peer ends it without memory", Options{SendDepth: 64}, sharedPeerEnds},
	{"shared/after the end", Options{}, sharedAfterEnd},
}

// sharedSource is an end whose receives are promised.
type sharedSource struct {
	*end
	transport.SharedReceiver
	size int

	mu     sync.Mutex // guards what follows
	left   int        // receives that there is memory for
	taken  int
	denied chan struct{} // capacity 1: there was none
	hook   func()        // called when there is none
}

// share makes p.b receive into shared memory for a number of messages. give adds more.
func share(p *pair, size, left int) *sharedSource {
	r, ok := transport.As[transport.SharedReceiver](p.b.Endpoint)
	if !ok {
		p.t.Skip("the provider cannot share receives")
	}
	s := &sharedSource{end: p.b, SharedReceiver: r, size: size, left: left, denied: make(chan struct{}, 1)}
	p.b.source.by = s
	return s
}

// shareHolding is share with a source that may have no memory.
func shareHolding(p *pair, size, left int) *sharedSource {
	if !p.b.Info().CanHold {
		p.t.Skip("the provider cannot hold one connection back")
	}
	return share(p, size, left)
}

// Receive implements transport.RecvSource.
func (s *sharedSource) Receive() *transport.RecvRequest {
	s.mu.Lock()
	if s.left == 0 {
		hook := s.hook
		s.mu.Unlock()
		if hook != nil {
			hook()
		}
		select {
		case s.denied <- struct{}{}:
		default:
		}
		return nil
	}
	s.left--
	s.taken++
	s.mu.Unlock()
	in := &s.inbox
	in.mu.Lock()
	number := in.posted
	in.posted++
	in.mu.Unlock()
	return &transport.RecvRequest{Local: []transport.Slice{s.alloc(s.size)}, Context: number}
}

// Ready implements transport.RecvSource.
func (s *sharedSource) Ready() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.left > 0
}

func (s *sharedSource) give(n int) {
	s.mu.Lock()
	s.left += n
	s.mu.Unlock()
	s.ResumeRecv()
}

func (s *sharedSource) promise(n int) {
	s.t.Helper()
	if err := s.PromiseRecv(n); err != nil {
		s.t.Fatalf("PromiseRecv(%d): %v", n, err)
	}
}

// wantTaken checks that memory was taken for so many messages. An end that cannot hold messages
// back may take it before.
func (s *sharedSource) wantTaken(want int) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken < want || s.taken > want && s.Info().CanHold {
		s.t.Errorf("memory taken for %d messages, want %d", s.taken, want)
	}
}

func (p *pair) sendNumber(i int) *entry {
	return p.a.post(with(transport.Signaled, send(p.a.hold(binary.BigEndian.AppendUint64(nil, uint64(i))))))[0]
}

func (p *pair) wantNumber(want int) {
	p.t.Helper()
	if got := binary.BigEndian.Uint64(p.b.next().data); got != uint64(want) {
		p.t.Fatalf("message %d arrived, want %d", got, want)
	}
}

func sharedWhenNeeded(p *pair) {
	s := share(p, 16, 100)
	s.promise(3)
	p.start()
	s.wantTaken(0)
	for i := range 3 {
		p.sendNumber(i)
		p.wantNumber(i)
		s.wantTaken(i + 1)
	}
	s.promise(1)
	p.sendNumber(3)
	p.wantNumber(3)
	s.wantTaken(4)
}

func sharedOneTooMany(p *pair) {
	s := share(p, 16, 100)
	s.promise(3)
	p.start()
	for i := range 4 {
		p.sendNumber(i)
	}
	for i := range 3 {
		p.wantNumber(i)
	}
	p.endedBy(transport.ErrNoReceive)
	p.terminated(p.a, p.b)
	s.wantTaken(3)
}

func sharedTooLong(p *pair) {
	share(p, 16, 100).promise(2)
	p.start()
	p.a.post(with(transport.Signaled, send(p.a.alloc(17))))
	p.endedBy(transport.ErrTooLong)
}

func sharedPostedFirst(p *pair) {
	s := share(p, 16, 100)
	s.promise(1)
	p.b.receives(2, 8)
	p.start()
	for i, taken := range []int{0, 0, 1} {
		p.sendNumber(i)
		p.wantNumber(i)
		s.wantTaken(taken)
	}
}

func sharedDepth(p *pair) {
	s := share(p, 16, 100)
	depth := p.b.Info().RecvDepth
	wantError(p.t, "PromiseRecv", s.PromiseRecv(depth+1), transport.ErrQueueFull)
	p.b.receives(1, 16)
	wantError(p.t, "PromiseRecv beside a receive", s.PromiseRecv(depth), transport.ErrQueueFull)
	s.promise(depth - 1)
	more := &transport.RecvRequest{Local: []transport.Slice{p.b.alloc(16)}}
	wantError(p.t, "PostRecv beside promises", p.b.inbox.post(p.b, more), transport.ErrQueueFull)
	p.start()
	for i := range depth {
		p.sendNumber(i)
		p.wantNumber(i)
	}
	s.promise(depth)
}

// While there is no memory for a message, it waits, and so do those after it. Nothing is lost. The
// other direction and other connections are not held up.
func sharedNone(p *pair) {
	s := shareHolding(p, 16, 2)
	s.promise(20)
	p.start()
	other := p.connect().start()
	for i := range 20 {
		p.sendNumber(i)
	}
	p.wantNumber(0)
	p.wantNumber(1)
	wait(p.t, "refusal", s.denied)
	for range 10 {
		p.a.receives(1, 16)
		p.b.send([]byte("the other way"))
		p.a.next()
		p.b.do(invalidate(p.b.expose(rw, p.b.alloc(8)).STag))
		other.alive()
	}
	s.wantTaken(2)
	s.ResumeRecv() // which changes nothing
	wait(p.t, "refusal again", s.denied)
	s.wantTaken(2)
	for i := 2; i < 20; i += 3 {
		s.give(3)
		for j := i; j < i+3; j++ {
			p.wantNumber(j)
		}
	}
}

func sharedResumedEarly(p *pair) {
	s := shareHolding(p, 16, 0)
	s.hook = func() { s.give(1) } // it is refused all the same
	s.promise(5)
	p.start()
	for i := range 5 {
		p.sendNumber(i)
	}
	for i := range 5 {
		p.wantNumber(i)
	}
}

// Memory for messages comes one by one. Now and then there are long messages, Writes and Reads in
// between.
func sharedAgain(p *pair) {
	const messages = 20 * rounds
	size := p.message(60000)
	length := func(i int) int { return min(8+i%7*8000, size) }
	s := shareHolding(p, size, 0)
	s.promise(p.inFlight(32))
	p.start()
	mem := p.b.alloc(8)
	region := p.b.expose(transport.RemoteWrite|transport.RemoteRead, mem)
	back := p.a.alloc(8)
	sent, window := 0, max(p.inFlight(64)/16, 1) // of three requests each
	var sends []*entry
	next := func() {
		p.a.post(write(region, 0, p.a.hold(binary.BigEndian.AppendUint64(nil, uint64(sent)))))
		p.a.post(with(transport.Signaled, read(region, 0, back)))
		long := p.a.alloc(length(sent))
		binary.BigEndian.PutUint64(long.Bytes, uint64(sent))
		sends = append(sends, p.a.post(with(transport.Signaled, send(long)))...)
		sent++
	}
	for range window {
		next()
	}
	for i := range messages {
		s.give(1)
		m := p.b.next()
		if got := binary.BigEndian.Uint64(m.data); got != uint64(i) || m.Len != length(i) {
			p.t.Fatalf("message %d of %d bytes, want %d of %d", got, m.Len, i, length(i))
		}
		s.promise(1)
		if i >= window {
			// A Send may complete later than it arrives, together with others that were sent with
			// it, at most a window. So there are never more than two windows in the queue.
			p.a.succeed(sends[i-window])
		}
		if sent < messages {
			next()
		}
	}
}

// Responses to b's own Reads may wait behind a message for which b has no memory. With memory they
// come.
func sharedReads(p *pair) {
	s := shareHolding(p, 16, 0)
	s.promise(1)
	p.start()
	size := p.size(200000)
	region := p.a.expose(transport.RemoteRead, p.a.hold(pattern(size, 1)))
	p.sendNumber(7)
	wait(p.t, "refusal", s.denied)
	mem := p.b.alloc(size)
	e := p.b.post(with(transport.Signaled, read(region, 0, mem)))[0]
	s.give(1)
	p.wantNumber(7)
	if err := p.b.completion(e); err != nil {
		p.t.Fatal(err)
	}
	wantBytes(p.t, "what was read", mem.Bytes, pattern(size, 1))
}

func sharedEnd(p *pair) {
	s := shareHolding(p, 16, 1)
	s.promise(8)
	p.start()
	for i := range 8 {
		p.sendNumber(i)
	}
	p.wantNumber(0)
	wait(p.t, "refusal", s.denied)
	if err := p.b.Close(); err != nil {
		p.t.Error(err)
	}
	p.b.ended()
	p.a.ended()
	s.wantTaken(1)
}

// The peer ends the connection while its message is held back. The endpoint must notice, so that it
// does not wait for memory ahead of others.
func sharedPeerEnds(p *pair) {
	s := shareHolding(p, 16, 0)
	s.promise(8)
	p.start()
	for i := range 8 {
		p.sendNumber(i)
	}
	wait(p.t, "refusal", s.denied)
	if err := p.a.Close(); err != nil {
		p.t.Error(err)
	}
	p.b.ended()
	p.a.ended()
	s.wantTaken(0)
}

func sharedAfterEnd(p *pair) {
	s := share(p, 16, 1)
	s.promise(1)
	p.start()
	p.b.Close()
	p.b.ended()
	if err := s.PromiseRecv(1); err == nil {
		p.t.Error("PromiseRecv after the end succeeded")
	}
	s.ResumeRecv()
	s.ResumeRecv()
}
