package transporttest

import (
	"encoding/binary"
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

var messageTests = []pairTest{
	{"send/sizes", Options{}, sendSizes},
	{"send/in order", Options{SendDepth: 256, RecvDepth: 256}, sendInOrder},
	{"send/solicited", Options{}, sendSolicited},
	{"send/unsignaled", Options{SendDepth: 256, RecvDepth: 256}, sendUnsignaled},
	{"send/before start", Options{}, sendBeforeStart},
	{"send/no receive", Options{}, sendNoReceive},
	{"send/too long", Options{}, sendTooLong},
	{"send/one receive too few", Options{}, sendOneTooMany},
}

func sendSizes(p *pair) {
	p.start()
	for _, n := range []int{1, 2, 3, 4, 5, 127, 128, 1443, 1444, 4096, 16383, 65536, 65537, 300001} {
		if p.message(n) < n {
			break
		}
		want := pattern(n, uint64(n))
		p.b.receives(1, n) // it just fits
		p.a.send(want)
		wantBytes(p.t, fmt.Sprintf("message of %d bytes", n), p.b.next().data, want)
	}
}

// inFlight returns a number of messages that fits in the queue of a and the receives of b.
func (p *pair) inFlight(atMost int) int {
	return min(atMost, p.a.Info().SendDepth, p.b.Info().RecvDepth)
}

func sendInOrder(p *pair) {
	p.start()
	n := p.inFlight(256)
	p.b.receives(n, 8)
	wrs := make([]*transport.WorkRequest, n)
	for i := range wrs {
		wrs[i] = with(transport.Signaled, send(p.a.hold(binary.BigEndian.AppendUint64(nil, uint64(i)))))
	}
	// Batches of 1, 2, 3 and so on.
	var entries []*entry
	for rest, k := wrs, 1; len(rest) > 0; k++ {
		k = min(k, len(rest))
		entries = append(entries, p.a.post(rest[:k]...)...)
		rest = rest[k:]
	}
	for i := range n {
		if got := binary.BigEndian.Uint64(p.b.next().data); got != uint64(i) {
			p.t.Fatalf("message %d arrived, want %d", got, i)
		}
	}
	for _, e := range entries {
		if err := p.a.completion(e); err != nil {
			p.t.Fatalf("%v: %v", e, err)
		}
	}
}

func sendSolicited(p *pair) {
	p.start()
	p.b.receives(2, 8)
	s := p.a.alloc(8)
	p.a.do(with(transport.Solicited, send(s)))
	p.a.do(send(s))
	if !p.b.next().Solicited && !p.f.NoSolicited {
		p.t.Error("the mark was lost (if the provider cannot tell, set Factory.NoSolicited)")
	}
	if p.b.next().Solicited {
		p.t.Error("a mark appeared")
	}
}

// Requests that are not signaled do not complete, which the ledger checks. They still leave the
// queue.
func sendUnsignaled(p *pair) {
	p.start()
	n := p.inFlight(64)
	p.b.receives(n, 8)
	s := p.a.alloc(8)
	for range n - 1 {
		p.a.post(send(s))
	}
	p.a.do(send(s))
	for range n {
		p.b.next()
	}
	p.alive()
}

// served says what may be the cause if something happens before Start.
const served = " (if an end serves its peer before Start, set Factory.ServesUnstarted)"

// Receives may be posted as late as just before Start, unless the end takes messages before. An
// exchange on another connection gives the early Send time to do harm.
func sendBeforeStart(p *pair) {
	if p.f.ServesUnstarted {
		p.t.Skip("receives must be posted earlier: see prepare/receives")
	}
	p.a.start()
	e := p.a.post(with(transport.Signaled, send(p.a.hold([]byte("early")))))
	other := p.connect().start()
	for range 10 {
		other.alive()
	}
	if err := p.b.Err(); err != nil {
		p.t.Fatalf("the connection ended before Start: %v%s", err, served)
	}
	p.b.receives(1, 8)
	p.b.start()
	if got := string(p.b.next().data); got != "early" {
		p.t.Errorf("received %q", got)
	}
	if err := p.a.completion(e[0]); err != nil {
		p.t.Error(err)
	}
}

func sendNoReceive(p *pair) {
	p.start()
	other := p.connect().start()
	p.alive() // uses up what it posts
	p.a.post(with(transport.Signaled, send(p.a.alloc(8))))
	p.endedBy(transport.ErrNoReceive)
	p.terminated(p.a, p.b)
	other.alive()
}

func sendTooLong(p *pair) {
	p.start()
	other := p.connect().start()
	p.b.receives(2, 16) // together they would do
	p.a.post(with(transport.Signaled, send(p.a.alloc(17))))
	p.endedBy(transport.ErrTooLong)
	p.terminated(p.a, p.b)
	other.alive()
}

func sendOneTooMany(p *pair) {
	const n = 10
	p.b.receives(n, 8)
	p.start()
	s := p.a.alloc(8)
	for range n + 1 {
		p.a.post(with(transport.Signaled, send(s)))
	}
	for range n {
		p.b.next()
	}
	p.endedBy(transport.ErrNoReceive)
}
