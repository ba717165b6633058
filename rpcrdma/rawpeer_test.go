package rpcrdma_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/transporttest"
)

// rawPeer is an endpoint played by hand. The test sends headers or bytes (send, sendBytes), reads
// and writes chunks (read, write), and gets the messages that come (next). It is a client of a rig
// (rig.raw) or the server of a real client (rawServer).
type rawPeer struct {
	t    testing.TB
	ep   transport.Endpoint
	msgs chan rawMsg

	clientLedger *ledger // of the other end, if it is a client
	granted      int     // the grant in the last answer to alive
}

// rawMsg is a message that has arrived.
type rawMsg struct {
	b           []byte
	invalidated transport.STag
	hasInv      bool
}

func newRawPeer(t testing.TB, ep transport.Endpoint) *rawPeer {
	p := &rawPeer{t: t, ep: ep, msgs: make(chan rawMsg, 4096)}
	for range 64 {
		p.recv()
	}
	ep.Start(p)
	t.Cleanup(func() {
		ep.Close()
		hang.Receive(t, "the end of the connection", ep.Done())
	})
	return p
}

func (p *rawPeer) recv() {
	p.ep.PostRecv(&transport.RecvRequest{Local: []transport.Slice{{Bytes: make([]byte, 8192)}}})
}

func (p *rawPeer) Received(batch []transport.Message) {
	for _, m := range batch {
		p.msgs <- rawMsg{m.Receive.Local[0].Bytes[:m.Len], m.Invalidated, m.HasInvalidate}
		p.recv()
	}
}

// do posts a work request and waits until it has succeeded.
func (p *rawPeer) do(wr transport.WorkRequest) {
	p.t.Helper()
	done := make(completer, 1)
	wr.Done, wr.Flags = done, wr.Flags|transport.Signaled
	if err := p.ep.Post(&wr); err != nil {
		p.t.Fatal(err)
	}
	if err := wait(p.t, done); err != nil {
		p.t.Fatal(err)
	}
}

type completer chan error

func (c completer) Complete(_ *transport.WorkRequest, err error) { c <- err }

// send sends a header and what follows it.
func (p *rawPeer) send(h *rpcrdma.Header, body ...[]byte) {
	p.t.Helper()
	b := h.Append(nil)
	for _, q := range body {
		b = append(b, q...)
	}
	p.sendBytes(b)
}

func (p *rawPeer) sendBytes(b []byte) {
	p.t.Helper()
	p.do(transport.WorkRequest{Op: transport.OpSend, Local: []transport.Slice{{Bytes: b}}})
}

// answer sends a reply without items to a call of procEcho.
func (p *rawPeer) answer(xid uint32) {
	p.t.Helper()
	p.send(header(xid, rpcrdma.TypeMsg), replyHeader(xid), be32(0, 7))
}

// next returns the next message that arrives.
func (p *rawPeer) next() (*rpcrdma.Header, []byte) {
	p.t.Helper()
	h, body, _ := p.nextMsg()
	return h, body
}

func (p *rawPeer) nextMsg() (*rpcrdma.Header, []byte, rawMsg) {
	p.t.Helper()
	m := wait(p.t, p.msgs)
	h := &rpcrdma.Header{}
	n, err := h.Parse(m.b)
	if err != nil {
		p.t.Fatalf("message %x: %v", m.b, err)
	}
	return h, m.b[n:], m
}

// expose opens a window.
func (p *rawPeer) expose(b []byte, access transport.Access) chunks.Segment {
	p.t.Helper()
	r := transporttest.Expose(p.t, p.ep, []transport.Slice{{Bytes: b}}, access)
	return chunks.Segment{Handle: uint32(r.STag), Length: uint32(r.Len), Offset: r.Base}
}

// write writes b to a segment of the peer.
func (p *rawPeer) write(s chunks.Segment, b []byte) {
	p.t.Helper()
	p.do(transport.WorkRequest{
		Op:     transport.OpWrite,
		Remote: transport.Remote{STag: transport.STag(s.Handle), Offset: s.Offset},
		Local:  []transport.Slice{{Bytes: b}},
	})
}

// read reads a segment of the peer.
func (p *rawPeer) read(s chunks.Segment) []byte {
	p.t.Helper()
	b := make([]byte, s.Length)
	p.do(transport.WorkRequest{
		Op:     transport.OpRead,
		Remote: transport.Remote{STag: transport.STag(s.Handle), Offset: s.Offset},
		Local:  []transport.Slice{{Bytes: b}},
	})
	return b
}

// alive checks that the connection of a raw client still works.
func (p *rawPeer) alive() {
	p.t.Helper()
	const xid = 0xa11fe
	p.send(header(xid, rpcrdma.TypeMsg), callBytes(xid, procNull, nil))
	h, body := p.next()
	if h.XID != xid || h.Type != rpcrdma.TypeMsg || !bytes.Equal(body, replyHeader(xid)) {
		p.t.Fatalf("connection does not work any more: %v %x", h.Type, body)
	}
	p.granted = int(h.Credits)
}

// checkReceives checks, while the peer has nothing under way, that a connection has as many
// receives as it granted: each message and call was counted exactly once.
func (p *rawPeer) checkReceives(l *ledger) {
	p.t.Helper()
	p.alive()
	waitRight(p.t, func() (wrong string) {
		if got := l.state().Awaited; got != p.granted {
			wrong = fmt.Sprintf("the peer may send %d messages, and was granted %d", got, p.granted)
		}
		return wrong
	})
}

// post sends a message, and reports whether the connection was there.
func (p *rawPeer) post(b []byte) bool {
	p.t.Helper()
	wr := transport.WorkRequest{Op: transport.OpSend, Flags: transport.Signaled,
		Done: make(completer, 1), Local: []transport.Slice{{Bytes: b}}}
	if p.ep.Post(&wr) != nil {
		return false
	}
	wait(p.t, wr.Done.(completer))
	return true
}
