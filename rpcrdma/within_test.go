package rpcrdma_test

import (
	"errors"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// fill takes all of the credits of a server that grants 16, by calls that are not answered.
func (p *rawPeer) fill(r *rig) {
	p.t.Helper()
	for xid := range uint32(16) {
		p.sendCall(100+xid, procBlock, 16)
		wait(p.t, r.program.entered)
	}
}

func (p *rawPeer) sendCall(xid, proc, asked uint32) {
	p.t.Helper()
	h := header(xid, rpcrdma.TypeMsg)
	h.Credits = asked
	p.send(h, callBytes(xid, proc, &items{}))
}

// TestNotExceeded: a client uses its grant to the last credit for a hundred calls. Its connection
// stays.
func TestNotExceeded(t *testing.T) {
	for _, d := range []rpcrdma.Dialect{rpcrdma.RFC8166, rpcrdma.Draft} {
		t.Run(d.String(), func(t *testing.T) {
			r := newRig(t, rpcrdma.Config{Dialect: d, Credits: 16})
			p := r.raw(inline4k)
			p.alive()
			conn := wait(t, r.program.conns)
			p.fill(r)
			for xid := range uint32(100) {
				r.program.gate <- struct{}{}
				if h, _ := p.next(); h.Credits != 16 {
					t.Fatalf("granted %d, want 16", h.Credits)
				}
				p.sendCall(1000+xid, procBlock, 16)
				wait(t, r.program.entered)
			}
			close(r.program.gate)
			for range 16 {
				p.next()
			}
			p.alive()
			if conn.Err() != nil || conn.Stats().Exceeded != 0 {
				t.Errorf("ended with %v", conn.Err())
			}
		})
	}
}

// TestLoweredGrantExceeded: a client ignores a lowered grant. Posted receives cannot be recalled,
// so calls that find one are served (draft section 3.3 leaves that to the server). One call more
// ends the connection.
func TestLoweredGrantExceeded(t *testing.T) {
	for _, d := range []rpcrdma.Dialect{rpcrdma.RFC8166, rpcrdma.Draft} {
		t.Run(d.String(), func(t *testing.T) {
			r := newRig(t, rpcrdma.Config{Dialect: d, Credits: 16})
			p := r.raw(inline4k)
			p.alive() // grants 16
			conn := wait(t, r.program.conns)
			p.sendCall(1, procEcho, 3)
			if h, _ := p.next(); h.Credits != 3 {
				t.Fatalf("granted %d, want 3", h.Credits)
			}
			for xid := range uint32(15) {
				p.sendCall(100+xid, procBlock, 3)
				wait(t, r.program.entered)
			}
			if conn.Err() != nil {
				t.Fatalf("ended with %v", conn.Err())
			}
			p.burst(append(header(1, rpcrdma.TypeMsg).Append(nil), callBytes(1, procNull, nil)...))
			ended(t, conn)
			if err := conn.Err(); !errors.Is(err, rpcrdma.ErrCreditsExceeded) {
				t.Errorf("ended with %v, want ErrCreditsExceeded", err)
			}
		})
	}
}

// TestDonesWithinGrant: a client of the Draft uses its grant to the last credit, with calls whose
// replies have read lists. Their RDMA_DONEs take over the credits of the calls, until the reply to
// a later call (draft section 3.8). The connection stays, and exactly as many receives are posted
// as the client may use.
func TestDonesWithinGrant(t *testing.T) {
	const most = 16
	r := newRig(t, rpcrdma.Config{Dialect: rpcrdma.Draft, Credits: most})
	p := r.raw(inline4k)
	p.alive()
	conn := wait(t, r.program.conns)
	xid, dones, sentDones := uint32(1000), 0, uint64(0)
	granted := most
	// DONEs are sent before the next calls or, as far as the grant allows, after them.
	for _, late := range []bool{false, true} {
		for _, asked := range []uint32{16, 3, 16, 1, 1, 16, 16, 2, 5, 16, 7, 0, 16} {
			n := max(1, granted-dones)
			for i := range n {
				xid++
				h := header(xid, rpcrdma.TypeMsg)
				h.Credits = asked
				var msg []byte
				if i%3 == 2 {
					msg = callBytes(xid, procNull, nil)
				} else {
					msg = callBytes(xid, procSource, &source{1, 5000})
				}
				p.send(h, msg)
			}
			var owed []uint32
			for range n {
				h, _ := p.next()
				granted = int(h.Credits)
				if len(h.Reads) > 0 {
					owed = append(owed, h.XID)
				}
			}
			dones = 0 // they were sent before these calls
			var next []uint32
			if late && len(owed) > 1 && granted > len(owed) {
				owed, next = owed[:1], owed[1:]
			}
			done := func(xids []uint32) {
				for _, xid := range xids {
					p.send(header(xid, rpcrdma.TypeDone))
					dones++
					sentDones++
				}
			}
			done(owed)
			if len(next) > 0 { // their credits are still in use
				for range granted - len(next) - dones {
					xid++
					p.sendCall(xid, procEcho, asked)
				}
				k := granted - len(next) - dones
				done(next)
				for range k {
					h, _ := p.next()
					granted = int(h.Credits)
				}
				if k > 0 {
					dones = len(next) // these were sent after the calls
				}
			}
			if posted := r.ledgers.of(t, conn).state().Awaited; posted > 2*most+2 || posted < granted-dones {
				t.Errorf("%d receives posted, where %d more messages may come", posted,
					granted-dones)
			}
		}
	}
	p.checkReceives(r.ledgers.of(t, conn))
	if got := conn.Stats(); got.DonesReceived != sentDones || got.DonesIgnored != 0 || got.Exceeded != 0 || sentDones < 50 {
		t.Errorf("counters %+v, %d DONEs sent", got, sentDones)
	}
}

// TestDoneWhileFull: a client of the Draft sends an RDMA_DONE when its calls have used up all other
// receives. There is one for it, even if the grant was lowered.
func TestDoneWhileFull(t *testing.T) {
	for _, asked := range []uint32{16, 1} {
		r := newRig(t, rpcrdma.Config{Dialect: rpcrdma.Draft, Credits: 16})
		p := r.raw(inline4k)
		p.alive()
		conn := wait(t, r.program.conns)
		for xid := range uint32(15) {
			p.sendCall(100+xid, procBlock, asked)
			wait(t, r.program.entered)
		}
		h := header(1, rpcrdma.TypeMsg)
		h.Credits = asked
		p.send(h, callBytes(1, procSource, &source{1, 5000}))
		got, _ := p.next()
		if got.Credits != asked || len(got.Reads) == 0 {
			t.Fatalf("granted %d with %d read segments", got.Credits, len(got.Reads))
		}
		p.send(header(1, rpcrdma.TypeDone))
		waitFor(t, func() bool { return conn.Stats().DonesReceived == 1 })
		close(r.program.gate)
		for range 15 {
			p.next()
		}
		p.alive()
	}
}
