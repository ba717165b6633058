package transporttest

import "github.com/rpcrdma/go-rpcrdma/transport"

var invalidateTests = []pairTest{
	{"invalidate/allowed", Options{}, invalidateAllowed},
	{"invalidate/used afterwards", Options{}, invalidateUsed},
	{"invalidate/not allowed", Options{}, invalidateNotAllowed},
	{"invalidate/unknown", Options{}, invalidateUnknown},
	{"invalidate/twice", Options{}, invalidateTwice},
	{"invalidate/abandoned", Options{}, invalidateAbandoned},
}

const all = transport.RemoteRead | transport.RemoteWrite | transport.RemoteInvalidate

// wantRemoteInvalidate skips a test unless the peer can end windows of b.
func (p *pair) wantRemoteInvalidate() {
	p.t.Helper()
	if !p.b.Info().RemoteInvalidate {
		p.t.Skip("the provider cannot invalidate for a peer")
	}
}

// sendInvalidate is a request to send "done" and end a window.
func sendInvalidate(from *end, tag transport.STag) *transport.WorkRequest {
	return &transport.WorkRequest{
		Op:         transport.OpSendInvalidate,
		Flags:      transport.Signaled,
		Invalidate: tag,
		Local:      []transport.Slice{from.hold([]byte("done"))},
	}
}

// wantInvalidated takes and checks the message of a sendInvalidate.
func wantInvalidated(p *pair, tag transport.STag) {
	p.t.Helper()
	m := p.b.next()
	if string(m.data) != "done" || !m.HasInvalidate || m.Invalidated != tag {
		p.t.Errorf("message %q, invalidated %#x (%v); want \"done\", %#x", m.data, m.Invalidated, m.HasInvalidate, tag)
	}
}

// The window has ended when the message is delivered, and Revoke ignores it. Another window stays.
func invalidateAllowed(p *pair) {
	p.wantRemoteInvalidate()
	p.start()
	mem := p.b.alloc(8)
	window, neighbour := p.b.expose(all, mem), p.b.expose(all, p.b.alloc(8))
	p.b.receives(2, 8)
	data := p.a.hold([]byte("12345678"))
	p.a.post(write(window, 0, data), sendInvalidate(p.a, window.STag))
	wantInvalidated(p, window.STag)
	wantBytes(p.t, "memory", mem.Bytes, []byte("12345678"))
	// The race detector checks that the provider does not touch the memory any more.
	copy(mem.Bytes, "00000000")
	if err := p.b.Revoke(window); err != nil {
		p.t.Errorf("Revoke of an invalidated window: %v", err)
	}
	p.a.do(write(neighbour, 0, data))
	p.a.do(send(data))
	if m := p.b.next(); m.HasInvalidate {
		p.t.Error("a plain message invalidated something")
	}
	p.alive()
}

func invalidateUsed(p *pair) {
	p.wantRemoteInvalidate()
	p.start()
	mem := p.b.alloc(8)
	window := p.b.expose(all, mem)
	p.b.receives(1, 8)
	p.a.post(sendInvalidate(p.a, window.STag),
		with(transport.Signaled, write(window, 0, p.a.hold([]byte("12345678")))))
	wantInvalidated(p, window.STag)
	p.endedBy(transport.ErrSTag)
	wantBytes(p.t, "memory", mem.Bytes, make([]byte, 8))
}

func invalidateNotAllowed(p *pair) {
	p.wantRemoteInvalidate()
	p.start()
	window := p.b.expose(rw, p.b.alloc(8))
	p.b.receives(1, 8)
	p.a.post(sendInvalidate(p.a, window.STag))
	p.endedBy(transport.ErrAccess)
}

func invalidateUnknown(p *pair) {
	p.wantRemoteInvalidate()
	p.start()
	other := p.connect().start()
	foreign := other.b.expose(all, other.b.alloc(8))
	tag := foreign.STag
	if !p.b.Info().EndpointTags {
		tag ^= nobodys
	}
	p.b.receives(1, 8)
	p.a.post(sendInvalidate(p.a, tag))
	p.endedBy(transport.ErrSTag)
	other.a.do(write(foreign, 0, other.a.alloc(8)))
	other.alive()
}

func invalidateTwice(p *pair) {
	p.wantRemoteInvalidate()
	p.start()
	window := p.b.expose(all, p.b.alloc(8))
	p.b.receives(2, 8)
	p.a.post(sendInvalidate(p.a, window.STag), sendInvalidate(p.a, window.STag))
	wantInvalidated(p, window.STag)
	p.endedBy(transport.ErrSTag)
}

func invalidateAbandoned(p *pair) {
	p.wantRemoteInvalidate()
	ab := abandoner(p)
	p.start()
	window := p.b.expose(all, p.b.alloc(8))
	if err := ab.Abandon(window); err != nil {
		p.t.Fatalf("Abandon: %v", err)
	}
	p.b.receives(1, 8)
	p.a.post(sendInvalidate(p.a, window.STag))
	wantInvalidated(p, window.STag)
	p.alive()
	p.a.post(with(transport.Signaled, write(window, 0, p.a.alloc(8))))
	p.endedBy(transport.ErrSTag)
}
