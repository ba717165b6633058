package rpcrdma_test

import (
	"encoding/binary"
	"slices"
	"sync"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// grantMeter is a server played by hand that looks at each call as it arrives: whether it is within
// the grant.
type grantMeter struct {
	*rawPeer
	open []uint32 // calls that were taken and are unanswered

	mu     sync.Mutex // guards what follows
	limit  int        // the grant
	active int        // calls that have arrived and are unanswered
	most   int        // the maximum of active
	excess int        // calls beyond the grant
}

func newGrantMeter(t testing.TB, cfg rpcrdma.Config) (*rpcrdma.Conn, *grantMeter) {
	t.Helper()
	c, ep, _ := acceptRaw(t, cfg, inline4k, sameEndpoint)
	m := &grantMeter{rawPeer: &rawPeer{t: t, ep: ep, msgs: make(chan rawMsg, 4096)}, limit: 1}
	for range 128 {
		m.recv()
	}
	ep.Start(m)
	t.Cleanup(func() {
		ep.Close()
		hang.Receive(t, "the end of the connection", ep.Done())
	})
	return c, m
}

// Received counts before anybody can answer.
func (m *grantMeter) Received(batch []transport.Message) {
	m.mu.Lock()
	for range batch {
		m.active++
		m.most = max(m.most, m.active)
		if m.active > max(1, m.limit) {
			m.excess++
		}
	}
	m.mu.Unlock()
	m.rawPeer.Received(batch)
}

// take takes n calls.
func (m *grantMeter) take(n int) {
	m.t.Helper()
	for range n {
		h, _ := m.next()
		m.open = append(m.open, h.XID)
	}
}

// answer answers one of the calls, and grants. The calls that the grant so far allows must all be
// here: then none is on its way that the new one does not.
func (m *grantMeter) answer(i, grant, most int) {
	m.t.Helper()
	m.mu.Lock()
	m.active--
	m.limit = min(grant, most)
	m.mu.Unlock()
	xid := m.open[i]
	m.open = slices.Delete(m.open, i, i+1)
	h := header(xid, rpcrdma.TypeMsg)
	h.Credits = uint32(grant)
	m.send(h, replyHeader(xid), be32(0, 7))
}

func (m *grantMeter) check(most int) {
	m.t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.excess > 0 || m.active > 0 || m.most != most {
		m.t.Errorf("%d calls beyond the grant, %d left, %d at the most at a time, want %d",
			m.excess, m.active, m.most, most)
	}
}

// takeTails takes n calls and returns the tails of their arguments.
func (m *grantMeter) takeTails(n int) (tails []int) {
	m.t.Helper()
	for range n {
		h, body := m.next()
		m.open = append(m.open, h.XID)
		tails = append(tails, int(binary.BigEndian.Uint32(body[len(body)-4:])))
	}
	return tails
}
