package rpcrdma_test

import (
	"bytes"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// Two replies of that many bytes fit in the share of a connection, three do not.
const third = 60_000

var smallShare = rpcrdma.Config{Dialect: rpcrdma.Draft, MaxMessage: 65536, ConnMemory: 131072,
	ServerMemory: 262144, Credits: 16}

// ask sends a call for one item of third bytes.
func (p *rawPeer) ask(xid uint32) {
	p.t.Helper()
	p.send(header(xid, rpcrdma.TypeMsg), callBytes(xid, procSource, &source{1, third}))
}

// answered checks that the next message is a reply to be read, reads it, and returns its header.
func (p *rawPeer) answered(xid uint32) *rpcrdma.Header {
	p.t.Helper()
	h, _ := p.next()
	if h.XID != xid || len(h.Reads) != 1 {
		p.t.Fatalf("answer %+v, want a reply to %d with a read list", h, xid)
	}
	if !bytes.Equal(p.read(h.Reads[0].Segment), pattern(0, third)) {
		p.t.Errorf("reply to %d differs", xid)
	}
	return h
}

// TestWithheld: a client asks for more than its share at once. Replies that do not fit wait for its
// RDMA_DONEs, and its grants go down to zero (draft section 11). Shorter replies wait behind them,
// even if there is room; otherwise these might overtake for ever. So do new calls, and the replies
// to earlier calls grant nothing. With the RDMA_DONEs everything continues.
func TestWithheld(t *testing.T) {
	r := newRig(t, smallShare)
	d := r.replyReader(privateData{Send: 4096, Recv: 1024})
	data := pattern(5, 3000)
	for xid, args := range []*items{{}, {data: [][]byte{data}}} {
		d.send(header(uint32(50+xid), rpcrdma.TypeMsg), callBytes(uint32(50+xid), procBlock, args))
		wait(t, r.program.entered)
	}
	for xid := range uint32(3) {
		d.ask(1 + xid)
	}
	d.answered(1)
	d.answered(2)
	withheld := func(n uint64) {
		t.Helper()
		waitFor(t, func() bool { return d.conn.Stats().Withheld == n || len(d.msgs) > 0 })
	}
	withheld(1)

	// The calls that were started go on, in any order.
	r.program.pass(t)
	r.program.pass(t)
	if h, _ := d.next(); h.XID != 50 || h.Credits != 0 {
		t.Errorf("reply to %d grants %d while one is withheld, want 0 in that to 50", h.XID, h.Credits)
	}
	withheld(2)
	d.sendCall(4, procNull, 16)
	waitFor(t, func() bool { return d.conn.Stats().Waited == 1 })

	r.notFreed()
	d.done(1)
	d.answered(3)
	h, _ := d.next()
	if h.XID != 51 || len(h.Reads) != 1 || !bytes.Equal(d.read(h.Reads[0].Segment), data) {
		t.Errorf("answer %+v, want the second reply that was withheld", h)
	}
	if h.Credits == 0 {
		t.Error("the last reply that was withheld grants nothing")
	}
	if h, _ := d.next(); h.XID != 4 {
		t.Errorf("answer %+v, want one to the call that waited", h)
	}
	for _, xid := range []uint32{51, 2, 3} {
		d.done(xid)
	}
	r.freed(3)
	d.finish(4, 0, 0)
}
