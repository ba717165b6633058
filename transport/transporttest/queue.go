package transporttest

import (
	"encoding/binary"
	"errors"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

var queueTests = []pairTest{
	{"queue/full", Options{SendDepth: 8}, queueFull},
	{"queue/all or none", Options{SendDepth: 8, RecvDepth: 8}, queueAllOrNone},
	{"queue/receives full", Options{RecvDepth: 8}, queueReceives},
	{"queue/malformed requests", Options{}, queueMalformed},
	{"queue/used again and again", Options{SendDepth: 8, RecvDepth: 8}, queueAgain},
}

// While b is not started, a's requests stay queued, except for those that the network holds.
// Refused requests are not carried out, and later there is room again.
func queueFull(p *pair) {
	if p.f.ServesUnstarted {
		p.t.Skip("nothing holds requests back: see queue/all or none")
	}
	p.a.start()
	size := p.size(64 << 10)
	mem := p.b.alloc(size)
	region := p.b.expose(transport.RemoteWrite, mem)
	data := p.a.alloc(size)
	posted, full := []*entry(nil), false
	for i := 0; !full; i++ {
		if i == 1<<16 {
			p.t.Fatalf("%d requests were queued, with a SendDepth of %d", i, p.a.Info().SendDepth)
		}
		entries, err := p.a.ledger.post(p.a, with(transport.Signaled, write(region, 0, data)))
		if full = err != nil; full {
			wantError(p.t, "Post", err, transport.ErrQueueFull)
		} else {
			posted = append(posted, entries...)
		}
	}
	if depth := p.a.Info().SendDepth; len(posted) < depth {
		p.t.Errorf("the queue was full after %d requests, want no fewer than %d", len(posted), depth)
	}
	p.b.start()
	for _, e := range posted {
		if err := p.a.completion(e); err != nil {
			p.t.Fatalf("%v: %v", e, err)
		}
	}
	p.alive()
}

// Requests that can never fit are refused together.
func queueAllOrNone(p *pair) {
	p.start()
	mem := p.b.alloc(8)
	region := p.b.expose(transport.RemoteWrite, mem)
	wrs := make([]*transport.WorkRequest, p.a.Info().SendDepth+1)
	for i := range wrs {
		wrs[i] = with(transport.Signaled, write(region, 0, p.a.hold(pattern(8, 1))))
	}
	_, err := p.a.ledger.post(p.a, wrs...)
	wantError(p.t, "Post", err, transport.ErrQueueFull)
	p.alive()
	wantBytes(p.t, "memory", mem.Bytes, make([]byte, 8))
	for _, e := range p.a.post(wrs[1:]...) { // just fits
		if err := p.a.completion(e); err != nil {
			p.t.Fatalf("%v: %v", e, err)
		}
	}
	p.alive()
	wantBytes(p.t, "memory", mem.Bytes, pattern(8, 1))

	rs := make([]*transport.RecvRequest, p.b.Info().RecvDepth+1)
	for i := range rs {
		rs[i] = &transport.RecvRequest{Local: []transport.Slice{p.b.alloc(8)}}
	}
	wantError(p.t, "PostRecv", p.b.inbox.post(p.b, rs...), transport.ErrQueueFull)
	p.a.post(with(transport.Signaled, send(p.a.alloc(8))))
	p.endedBy(transport.ErrNoReceive)
}

func queueReceives(p *pair) {
	p.start()
	depth := p.b.Info().RecvDepth
	p.b.receives(depth, 16)
	more := &transport.RecvRequest{Local: []transport.Slice{p.b.alloc(16)}}
	wantError(p.t, "PostRecv", p.b.inbox.post(p.b, more), transport.ErrQueueFull)
	p.a.send([]byte("room"))
	p.b.next()
	if err := p.b.inbox.post(p.b, more); err != nil {
		p.t.Errorf("PostRecv: %v", err)
	}
	for range depth {
		p.a.send([]byte("more"))
		p.b.next()
	}
	p.alive()
}

// A malformed request is refused together with all others of that Post. Nothing else happens.
func queueMalformed(p *pair) {
	p.start()
	mem := p.b.alloc(8)
	region := p.b.expose(transport.RemoteWrite, mem)
	good := func() *transport.WorkRequest {
		wr := write(region, 0, p.a.hold(pattern(8, 1)))
		wr.Done = &p.a.ledger
		return wr
	}
	done := &p.a.ledger
	for name, bad := range beyond(p.a) {
		bad.Done, bad.Remote = done, at(region, 0)
		wantError(p.t, "Post, "+name, p.a.Post(bad), transport.ErrWorkRequest)
	}
	if n := p.b.Info().MaxRecvSGE; n > 0 {
		many := &transport.RecvRequest{Local: split(p.b.alloc(n+1), 1)}
		wantError(p.t, "PostRecv, too many elements", p.b.PostRecv(many), transport.ErrWorkRequest)
	}
	for name, bad := range map[string]*transport.WorkRequest{
		"nil":                    nil,
		"no Completer":           {Op: transport.OpSend},
		"unsignaled, no ledger":  {Op: transport.OpWrite, Remote: at(region, 0)},
		"operation 0":            {Done: done},
		"an operation too large": {Op: transport.OpInvalidate + 1, Done: done},
	} {
		wantError(p.t, "Post, "+name, p.a.Post(bad), transport.ErrWorkRequest)
		wantError(p.t, "Post between others, "+name, p.a.Post(good(), bad, good()), transport.ErrWorkRequest)
	}
	wantError(p.t, "PostRecv of nil", p.b.PostRecv(nil), transport.ErrWorkRequest)
	for _, err := range []error{p.a.Post(), p.a.PostRecv(), p.a.Revoke()} {
		if err != nil {
			p.t.Errorf("nothing asked for: %v", err)
		}
	}
	p.alive()
	wantBytes(p.t, "memory", mem.Bytes, make([]byte, 8))
}

// beyond returns requests that exceed the limits of an endpoint.
func beyond(e *end) map[string]*transport.WorkRequest {
	wrs, limits := make(map[string]*transport.WorkRequest), e.Info()
	elements := func(op transport.Op, limit int) {
		if limit > 0 {
			local := split(e.alloc(limit+1), 1)
			wrs[op.String()+", too many elements"] = &transport.WorkRequest{Op: op, Local: local}
		}
	}
	elements(transport.OpSend, limits.MaxSendSGE)
	elements(transport.OpWrite, limits.MaxSendSGE)
	elements(transport.OpRead, limits.MaxReadSGE)
	// Skip it if that would take gigabytes.
	if n := limits.MaxMessage; n > 0 && n <= 16<<20 {
		local := []transport.Slice{e.alloc(n + 1)}
		for _, op := range []transport.Op{transport.OpSend, transport.OpWrite, transport.OpRead} {
			wrs[op.String()+", too long"] = &transport.WorkRequest{Op: op, Local: local}
		}
	}
	return wrs
}

// Many more requests pass than the queues hold. Those that do not fit are posted again when an
// earlier one has completed.
func queueAgain(p *pair) {
	p.start()
	const n = 80 * rounds
	window := p.inFlight(8)
	p.b.receives(window, 8)
	var entries []*entry
	oldest, arrived := 0, 0
	for i := range n {
		for i-arrived >= window {
			p.take(arrived)
			arrived++
		}
		wr := with(transport.Signaled, send(p.a.hold(binary.BigEndian.AppendUint64(nil, uint64(i)))))
		e, err := p.a.ledger.post(p.a, wr)
		for errors.Is(err, transport.ErrQueueFull) && oldest < len(entries) {
			if err := p.a.completion(entries[oldest]); err != nil {
				p.t.Fatalf("%v: %v", entries[oldest], err)
			}
			oldest++
			e, err = p.a.ledger.post(p.a, wr)
		}
		if err != nil {
			p.t.Fatalf("Post: %v", err)
		}
		entries = append(entries, e...)
	}
	for ; arrived < n; arrived++ {
		p.take(arrived)
	}
}

// take takes message i at b and posts a receive in its place.
func (p *pair) take(i int) {
	p.t.Helper()
	m := p.b.next()
	if got := binary.BigEndian.Uint64(m.data); got != uint64(i) {
		p.t.Fatalf("message %d arrived, want %d", got, i)
	}
	if err := p.b.inbox.post(p.b, m.Receive); err != nil {
		p.t.Fatalf("PostRecv: %v", err)
	}
}
