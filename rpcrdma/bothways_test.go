package rpcrdma_test

import (
	"bytes"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// bothWays is a client of a server played by hand (rawPeer), which it serves, too. RDMA Reads of
// the client wait until the test releases them (held).
type bothWays struct {
	*rawPeer
	c       *rpcrdma.Conn
	held    *heldRequests
	program *program
}

// serveBack has a client serve the test program.
func serveBack(t testing.TB, c *rpcrdma.Conn) *program {
	prog, back := newProgram(), oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet})
	back.Handle(prog.program())
	t.Cleanup(func() { back.Close() })
	c.Serve(back)
	return prog
}

// newBothWays connects the two ends, in the Draft.
func newBothWays(t *testing.T, cfg rpcrdma.Config) *bothWays {
	made, hold := heldReads()
	cfg.Dialect = rpcrdma.Draft
	r := new(bothWays)
	r.c, r.rawPeer = rawServerOn(t, cfg, inline4k, hold)
	r.held = wait(t, made)
	r.program = serveBack(t, r.c)
	clientWorks(t, r.c, r.rawPeer)
	r.alive() // grants the peer more than one call
	return r
}

// pending makes a call that the peer has got.
func (r *bothWays) pending() (*started, uint32) {
	r.t.Helper()
	s := start(r.t.Context(), r.c, &items{}, nil)
	h, _ := r.next()
	return s, h.XID
}

// long has the peer send a long message.
func (r *bothWays) long(xid uint32, message []byte) {
	r.t.Helper()
	h := header(xid, rpcrdma.TypeNoMsg)
	h.Reads = r.readSegments(0, message)
	r.send(h)
}

// echo has the peer make a long call.
func (r *bothWays) echo(xid uint32, data []byte) {
	r.t.Helper()
	r.long(xid, callBytes(xid, procEcho, &items{data: [][]byte{data}, tail: 7}))
}

// echoed checks that the next message is the reply to that.
func (r *bothWays) echoed(xid uint32, data []byte) {
	r.t.Helper()
	h, body := r.next()
	if h.XID != xid || h.Type != rpcrdma.TypeMsg || !bytes.Equal(body, echoReply(xid, data)) {
		r.t.Errorf("answer to the peer's call %d: %+v, or it differs", xid, h)
	}
}

// answer has the peer answer a call of ours.
func (r *bothWays) answer(s *started, xid uint32) {
	r.t.Helper()
	r.send(header(xid, rpcrdma.TypeMsg), replyHeader(xid), be32(0, 7))
	if err := wait(r.t, s.err); err != nil {
		r.t.Errorf("our call: %v", err)
	}
}

// checkReceives checks that the receives posted are those accounted for, when no call is under way.
func (r *bothWays) checkReceives() {
	r.t.Helper()
	r.rawPeer.checkReceives(r.clientLedger)
}

// limitReads has the peer say how many Reads it serves.
func (r *bothWays) limitReads(n int) {
	r.c.UpdateSettings(func(s *rpcrdma.Settings) { s.Reads = n })
}

// wantReads checks that there are so many Reads under way, and no more to come.
func (r *bothWays) wantReads(n int) {
	r.t.Helper()
	waitFor(r.t, func() bool { return len(r.held.queue) >= n })
	if got := len(r.held.queue); got != n {
		r.t.Errorf("%d RDMA Reads under way, want %d", got, n)
	}
}

// reply starts a call and leaves its reply in n segments to be read.
func (r *bothWays) reply(n int) (s *started, data []byte) {
	r.t.Helper()
	s = start(r.t.Context(), r.c, &items{}, nil)
	h, _ := r.next()
	data = pattern(uint64(h.XID), n*100)
	msg := header(h.XID, rpcrdma.TypeMsg)
	for i := range n {
		msg.Reads = append(msg.Reads, r.readSegments(36, data[i*100:(i+1)*100])...)
	}
	r.send(msg, result(h.XID, len(data)))
	return s, data
}
