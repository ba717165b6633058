package transporttest

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

var orderTests = []pairTest{
	{"order/write before send", Options{SendDepth: 256, RecvDepth: 256}, writeBeforeSend},
	{"order/batch", Options{}, orderBatch},
	{"order/fence", Options{}, orderFence},
}

// Every Write posted before a Send has been placed when that Send is delivered. b checks that
// within Received, while later Writes are under way.
func writeBeforeSend(p *pair) {
	const slot = 9000
	n := min(p.inFlight(100)/2, p.exposable(50*slot)/slot)
	mem := p.b.alloc(n * slot)
	mine := p.b.window(transport.RemoteWrite, p.b.scattered(mem, slot-1, 1)...)
	done := make(chan struct{})
	next := 0
	p.b.inbox.hook = func(m message) {
		i := int(binary.BigEndian.Uint64(m.data))
		if i != next {
			p.t.Errorf("message %d arrived, want %d", i, next)
		}
		if !bytes.Equal(mem.Sub(i*slot, slot).Bytes, pattern(slot, uint64(i))) {
			p.t.Errorf("message %d arrived before the Write ahead of it was placed", i)
		}
		if next++; next == n {
			close(done)
		}
	}
	p.b.receives(n, 8)
	p.start()
	for i := range n {
		data := p.a.hold(pattern(slot, uint64(i)))
		number := p.a.hold(binary.BigEndian.AppendUint64(nil, uint64(i)))
		wrs := p.a.requests(transport.OpWrite, mine, i*slot, data.Sub(0, 5000))
		wrs = append(wrs,
			p.a.requests(transport.OpWrite, mine, i*slot+5000, data.Sub(5000, slot-5000))...)
		p.a.post(append(wrs, with(transport.Signaled, send(number)))...)
		// They need not all fit in the queue at once.
		if i%10 == 9 {
			p.a.do(write(mine[0], 0))
		}
	}
	wait(p.t, "the last message", done)
}

// All kinds of requests in one Post.
func orderBatch(p *pair) {
	p.start()
	mem := p.b.hold(pattern(3000, 1))
	region := p.b.expose(transport.RemoteRead|transport.RemoteWrite, mem)
	p.b.receives(2, 3000)
	data, got := pattern(1000, 2), p.a.alloc(1000)
	entries := p.a.post(
		send(p.a.hold([]byte("first"))),
		write(region, 2000, p.a.hold(data)),
		with(transport.Signaled, read(region, 1000, got)),
		with(transport.Signaled, write(region, 0, p.a.hold(data))),
		with(transport.Signaled, send(p.a.hold([]byte("last")))),
	)
	for _, e := range entries[2:] {
		if err := p.a.completion(e); err != nil {
			p.t.Fatalf("%v: %v", e, err)
		}
	}
	for _, want := range []string{"first", "last"} {
		if m := string(p.b.next().data); m != want {
			p.t.Errorf("received %q, want %q", m, want)
		}
	}
	old := pattern(3000, 1)
	wantBytes(p.t, "what was read", got.Bytes, old[1000:2000])
	wantBytes(p.t, "memory", mem.Bytes, bytes.Join([][]byte{data, old[1000:2000], data}, nil))
}

// A fenced Write sends what the Read before it has fetched.
func orderFence(p *pair) {
	p.start()
	p.b.receives(20, 8)
	for i := range 20 {
		size := p.size(1 + i*7001)
		want := pattern(size, uint64(i))
		from, to := p.b.hold(want), p.b.alloc(size)
		source, sink := p.b.expose(transport.RemoteRead, from), p.b.expose(transport.RemoteWrite, to)
		s := p.a.alloc(size)
		p.a.post(
			read(source, 0, s),
			with(transport.Fence, write(sink, 0, s)),
			with(transport.Signaled, send(p.a.alloc(1))),
		)
		p.b.next()
		wantBytes(p.t, fmt.Sprintf("what was read and written, %d bytes", size), to.Bytes, want)
		p.b.Revoke(source, sink)
	}
}
