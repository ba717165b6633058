package rpcrdma_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// memoryProbe shows how much of a server's memory for chunks is free: by calls that ask for it.
type memoryProbe struct {
	t       testing.TB
	program *program
	dial    func() *rawPeer // another client, on another host
	reads   bool            // clients may be left replies to read

	call, conn, server int64 // bytes: the most that a call can request, and the totals
}

// newMemoryProbe returns a probe for a server with this configuration.
func newMemoryProbe(t testing.TB, cfg rpcrdma.Config, prog *program,
	dial func() *rawPeer) *memoryProbe {
	m := &memoryProbe{t: t, program: prog, dial: dial, reads: cfg.Dialect != rpcrdma.RFC8166}
	message := max(rpcrdma.MaxInline, cmp.Or(int64(cfg.MaxMessage), 4<<20))
	m.call = 2 * message
	m.conn = max(m.call, cmp.Or(cfg.ConnMemory, 64<<20))
	m.server = max(m.conn, cmp.Or(cfg.ServerMemory, 512<<20))
	return m
}

// connOf returns the server's end of a client that has made a call of procNull.
func (p *program) connOf(t testing.TB, peer *rawPeer) *rpcrdma.Conn {
	t.Helper()
	var others []*rpcrdma.Conn
	defer func() {
		for _, c := range others {
			p.conns <- c
		}
	}()
	for {
		c := wait(t, p.conns)
		if c.RemoteAddr().String() == peer.ep.Info().LocalAddr.String() {
			return c
		}
		others = append(others, c)
	}
}

// forgetConns forgets connections that have ended, and that others are there more than once.
func (p *program) forgetConns() {
	var live []*rpcrdma.Conn
	for range len(p.conns) {
		if c := <-p.conns; c.Err() == nil && !slices.Contains(live, c) {
			live = append(live, c)
		}
	}
	for _, c := range live {
		p.conns <- c
	}
}

// hold makes a call that asks for n bytes and is begun when it has them; then its handler waits for
// the gate. Nothing is moved.
func (p *rawPeer) hold(xid uint32, n, most int64) {
	p.t.Helper()
	h := header(xid, rpcrdma.TypeMsg)
	body := append(callBytes(xid, procBlock, nil), be32(0, 0)...)
	args := min(max(n-most/2, 0), most/2)
	if args > 0 {
		h.Reads = []chunks.ReadSegment{{Position: uint32(len(body)), Segment: chunks.Segment{Handle: 1, Length: uint32(args)}}}
	}
	h.SetReply([]chunks.Segment{{Handle: 1, Length: uint32(n - args)}})
	p.send(h, body)
}

// heldCalls is a client with calls that have memory.
type heldCalls struct {
	*rawPeer
	n int
}

const holdXID = 0xb10c0000

// fill has a client that is idle take all that a connection may have.
func (m *memoryProbe) fill(p *rawPeer) heldCalls {
	m.t.Helper()
	p.alive()
	n := int(m.conn / m.call)
	if p.granted < n || m.conn%m.call != 0 {
		m.t.Fatalf("%d calls of %d bytes do not fill %d bytes, or %d are granted", n, m.call,
			m.conn, p.granted)
	}
	for i := range n {
		p.hold(holdXID+uint32(i), m.call, m.call)
		wait(m.t, m.program.entered) // late if its memory is
	}
	return heldCalls{p, n}
}

// full checks that a call which needs one byte has to wait.
func (m *memoryProbe) full(h *heldCalls, what string) {
	m.t.Helper()
	if h.n >= h.granted {
		return // it has no credit for a call
	}
	conn := m.program.connOf(m.t, h.rawPeer)
	before := conn.Stats().Waited
	h.hold(holdXID+uint32(h.n), 1, m.call)
	h.n++
	waitRight(m.t, func() (wrong string) {
		if conn.Stats().Waited != before+1 {
			wrong = fmt.Sprintf("a call has begun with one byte more than there is %s", what)
		}
		return wrong
	})
}

// check waits until the memory of these clients and of the server has been given back, and checks
// that no more is in use than before. The clients have nothing under way.
func (m *memoryProbe) check(live ...*rawPeer) {
	m.t.Helper()
	if len(live) == 0 {
		live = []*rawPeer{m.dial()}
	}
	for _, p := range live {
		m.program.forgetConns()
		all := []heldCalls{m.fill(p)}
		m.full(&all[0], "for the connection")
		if m.reads && all[0].n < p.granted && p.ep.Info().ORD > 0 {
			// If no other reply is pinned, a reply is pinned however little memory is free.
			p.source(holdXID-1, 1, 5001)
			p.done(holdXID - 1)
			wait(m.t, m.program.freed)
		}
		// A host that has no memory gets what there is.
		for rest := m.server - m.conn; rest > 0; rest -= m.call {
			h := heldCalls{m.dial(), 1}
			h.alive()
			h.hold(holdXID, min(rest, m.call), m.call)
			wait(m.t, m.program.entered)
			all = append(all, h)
		}
		if len(all) > 1 {
			last := heldCalls{m.dial(), 0}
			last.alive()
			m.full(&last, "for the server")
			all = append(all, last)
		}
		for _, h := range all {
			for range h.n {
				m.program.pass(m.t)
			}
		}
		for _, h := range all {
			for range h.n {
				if a, _ := h.next(); a.XID < holdXID || a.Type != rpcrdma.TypeMsg {
					m.t.Errorf("answer %+v to a call that has had its memory", a)
				}
			}
		}
		for len(m.program.entered) > 0 { // the calls that had to wait
			<-m.program.entered
		}
		for _, h := range all[1:] {
			h.ep.Close()
		}
	}
}

// memoryBack waits until all memory for chunks of these clients and of the server has been given
// back. They have nothing under way.
func (r *rig) memoryBack(live ...*rawPeer) {
	r.t.Helper()
	if !r.hosts.apart.Swap(true) {
		defer r.hosts.apart.Store(false)
	}
	newMemoryProbe(r.t, r.cfg, r.program, func() *rawPeer { return r.raw(inline4k) }).check(live...)
}
