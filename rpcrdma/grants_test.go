package rpcrdma_test

import (
	"errors"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// TestReplyBehindTheGrants: a long message is fetched as a call of the peer, but turns out to be
// the reply to a call made meanwhile. RFC 8166 has no such replies, so the call fails. Its credit
// is free again. The grant in the message does not count, because newer ones have come.
func TestReplyBehindTheGrants(t *testing.T) {
	made, hold := heldReads()
	c, p := rawServerOn(t, rpcrdma.Config{}, inline4k, hold)
	held := wait(t, made)
	back := oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet})
	back.Handle(newProgram().program())
	defer back.Close()
	c.Serve(back)
	clientWorks(t, c, p)
	granted, _, _ := c.Credits()

	const xid = 0x1a7e
	long := header(xid, rpcrdma.TypeNoMsg)
	long.Credits = 1
	long.Reads = p.readSegments(0, append(replyHeader(xid), be32(0, 7)...))
	p.send(long)
	clientWorksBeside(t, c, p) // arrives after it

	x := oncrpc.Exchange{Call: callMessage(xid, procEcho, &items{}), MaxReply: 100, XID: xid}
	call := make(chan error, 1)
	go func() { call <- c.RoundTrip(t.Context(), &x) }()
	if h, _ := p.next(); h.XID != xid {
		t.Fatalf("call %#x, want %#x", h.XID, xid)
	}
	held.release(t, 1)
	if err := wait(t, call); !errors.Is(err, rpcrdma.ErrReplyReadList) {
		t.Errorf("our call: %v, want %v", err, rpcrdma.ErrReplyReadList)
	}
	if grant, inUse, waiting := c.Credits(); grant != granted || inUse != 0 || waiting != 0 {
		t.Errorf("Credits() = %d, %d, %d, want %d, 0, 0", grant, inUse, waiting, granted)
	}
	clientWorks(t, c, p)
}

// TestAsksForFew: clients that want two credits keep calls under way. The rest of the memory for
// receives is free for others, so the next client is granted as many credits as it asks for.
func TestAsksForFew(t *testing.T) {
	onProviders(t, func(t *testing.T, provider string) {
		const modest, asked, credits = 8, 2, 32
		m := newManyClients(t, provider, 0,
			rpcrdma.Config{Credits: credits, ReceiveMemory: 4 * credits * testReceiveSize})
		var peers []*rawPeer
		for range modest {
			p := m.raw(inline4k)
			peers = append(peers, p)
			for xid, proc := range []uint32{procNull, procBlock, procNull} {
				p.sendCall(uint32(xid), proc, asked)
				if proc == procBlock {
					wait(t, m.program.entered)
				} else if h, _ := p.next(); h.Credits > asked {
					t.Errorf("granted %d, want no more than %d", h.Credits, asked)
				}
			}
		}
		m.join(1)
		together(t, m.clients[0], 1)
		if grant, _, _ := m.clients[0].Credits(); grant != credits {
			t.Errorf("granted %d beside clients that want few, want %d", grant, credits)
		}
		for range modest {
			m.program.pass(t)
		}
		for _, p := range peers {
			p.next()
		}
	})
}
