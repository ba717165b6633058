package rpcrdma_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// reader is a client that leaves as many replies unread as it can.
type reader struct {
	*rawPeer
	conn    *rpcrdma.Conn // the server's end
	size    uint32
	granted int
	xid     uint32 // of the latest call
	calls   int    // not answered
	owed    []uint32
}

// newReader makes a reader of a client, of replies of size bytes.
func newReader(t testing.TB, p *rawPeer, prog *program, size uint32) *reader {
	p.alive()
	return &reader{rawPeer: p, conn: wait(t, prog.conns), size: size, granted: 1}
}

// ask makes a call, if the client may, and waits until it is answered or known to wait.
func (r *reader) ask() bool {
	r.t.Helper()
	if r.calls > 0 && r.calls+len(r.owed) >= r.granted {
		return false
	}
	waiting := func() uint64 { s := r.conn.Stats(); return s.Withheld + s.Waited }
	before := waiting()
	r.xid++
	r.calls++
	r.send(header(r.xid, rpcrdma.TypeMsg), callBytes(r.xid, procSource, &source{1, r.size}))
	waitFor(r.t, func() bool { return len(r.msgs) > 0 || waiting() > before })
	for len(r.msgs) > 0 {
		r.take()
	}
	return true
}

// take takes a reply.
func (r *reader) take() {
	r.t.Helper()
	h, _ := r.next()
	if len(h.Reads) != 1 {
		r.t.Fatalf("answer %+v, want a reply to be read", h)
	}
	r.calls--
	r.granted = int(h.Credits)
	r.owed = append(r.owed, h.XID)
}

// acknowledge sends the oldest RDMA_DONE that is owed, for which there may have to be a reply
// first.
func (r *reader) acknowledge() {
	r.t.Helper()
	if len(r.owed) == 0 {
		r.take()
	}
	r.done(r.owed[0])
	r.owed = r.owed[1:]
}

// TestPinnedReceives: many clients leave replies unread. The message of each call stays until then.
// So while memory for messages is short, each client has one such reply and the next is withheld.
func TestPinnedReceives(t *testing.T) {
	for provider := range providers {
		for _, receives := range []int{0, 20} {
			t.Run(fmt.Sprintf("%s/%d", provider, receives), func(t *testing.T) {
				const readers, credits = 12, 8
				cr := newManyClients(t, provider, 0, rpcrdma.Config{
					Dialect: rpcrdma.Draft, Credits: credits, ReceiveMemory: max(1, int64(receives)*testReceiveSize), PeerTimeout: time.Hour,
					MaxMessage: rpcrdma.MaxInline, ConnMemory: 2 * rpcrdma.MaxInline, ServerMemory: 8 * rpcrdma.MaxInline,
				})
				var all []*reader
				for range readers {
					r := newReader(t, cr.raw(inline4k), cr.program, 5001)
					for len(r.owed) < credits && r.ask() {
					}
					all = append(all, r)
				}
				// For each reader: the receive of the reply being read, of the withheld one, and of
				// a waiting one.
				if most := receives + freeReceivesRead*readers; cr.meter.mostRecv > most {
					t.Errorf("%d receives with memory at a time, want no more than %d",
						cr.meter.mostRecv, most)
				}
				for _, r := range all {
					for r.calls+len(r.owed) > 0 {
						r.acknowledge()
					}
				}
				var peers []*rawPeer
				for _, r := range all {
					peers = append(peers, r.rawPeer)
				}
				cr.memoryBack(peers...)
				waitFor(t, func() bool {
					free, size, queued := all[0].conn.ReceiveMemory()
					return free == size && queued == 0
				})
			})
		}
	}
}

// TestPinnedGiveWay: one client always leaves replies unread, though none for long. Another one,
// whose messages wait for memory, still gets its turn.
func TestPinnedGiveWay(t *testing.T) {
	for provider := range providers {
		t.Run(provider, func(t *testing.T) {
			const credits = 8
			cr := newManyClients(t, provider, 1, rpcrdma.Config{
				Dialect: rpcrdma.Draft, Credits: credits, ReceiveMemory: 2 * (credits + 1 - freeReceivesRead) * testReceiveSize, PeerTimeout: time.Hour,
			})
			c := cr.clients[0]
			together(t, c, 1) // its reply brings the credits
			for range 2 {
				wait(t, cr.program.conns)
			}
			r := newReader(t, cr.raw(inline4k), cr.program, 5001)
			for len(r.owed) < credits && r.ask() {
			}
			answered := make(chan error, 1)
			go func() { answered <- client(c).Call(t.Context(), procNull, nil, nil) }()
			queued := func() bool { _, _, n := r.conn.ReceiveMemory(); return n > 0 }
			waitFor(t, func() bool { return queued() || len(answered) > 0 })
			for rounds := 0; queued(); rounds++ {
				if rounds == 100*credits {
					t.Fatalf("the other waits while %d replies are read", rounds)
				}
				r.acknowledge()
				r.ask()
			}
			if err := wait(t, answered); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestPinnedNotAhead: one client always leaves replies unread, though none for long, so that little
// of the server's memory is ever free. A call of another client that needs more still starts.
func TestPinnedNotAhead(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		rig := newRig(t, smallShare)
		c := rig.dial(rpcrdma.Config{Dialect: rpcrdma.Draft})
		together(t, c, 0)
		conn := wait(t, rig.program.conns)
		r := newReader(t, rig.raw(inline4k), rig.program, third)
		for r.ask() && r.conn.Stats().Withheld == 0 {
		}
		answered := make(chan error, 1)
		go func() { answered <- echo(c, &items{data: [][]byte{pattern(1, third)}}, false) }()
		waits := func() bool { return len(answered) == 0 }
		waitFor(t, func() bool { return conn.Stats().Waited > 0 })
		for rounds := 0; waits(); rounds++ {
			if rounds == 100 {
				t.Fatalf("the other waits while %d replies are read", rounds)
			}
			r.acknowledge()
			r.ask()
			synctest.Wait() // so that the other gets as far as it can
		}
		if err := wait(t, answered); err != nil {
			t.Error(err)
		}
		for r.calls+len(r.owed) > 0 {
			r.acknowledge()
		}
		rig.memoryBack(r.rawPeer)
	})
}

// TestOneAtATime: others hold all memory for messages. A client that makes one call at a time, and
// reads its reply, does not wait for them.
func TestOneAtATime(t *testing.T) {
	for provider := range providers {
		for _, dialect := range []rpcrdma.Dialect{rpcrdma.RFC8166, rpcrdma.Draft} {
			t.Run(fmt.Sprintf("%s/%v", provider, dialect), func(t *testing.T) {
				cr := newManyClients(t, provider, 1, rpcrdma.Config{Dialect: dialect, Credits: 8})
				together(t, cr.clients[0], 0)
				conn := wait(t, cr.program.conns)
				all, _, _ := conn.ReceiveMemory()
				conn.ForceReceiveMemory(all)
				c := cr.dialOn(rpcrdma.Config{Dialect: dialect, NoReplyChunks: true}, sameEndpoint)
				ended := make(chan error, 1)
				for range 5 {
					go func() { ended <- fetchItem(t.Context(), c, 5001) }()
					if err := wait(t, ended); err != nil {
						t.Fatal(err)
					}
				}
				conn.ForceReceiveMemory(-all)
			})
		}
	}
}
