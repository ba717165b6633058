package rpcrdma_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// TestPinnedGiveWay: one client always leaves replies unread, though none for long. Another one,
// whose messages wait for memory, still gets its turn.
func TestPinnedGiveWay(t *testing.T) {
	const credits = 8
	cr := newManyClients(t, "iwarp", 1, rpcrdma.Config{
		Dialect: rpcrdma.Draft, Credits: credits, PeerTimeout: time.Hour,
		ReceiveMemory: 2 * (credits + 1 - freeReceivesRead) * testReceiveSize,
	})
	c := cr.clients[0]
	together(t, c, 1) // its reply brings the credits
	r := cr.replyReader(inline4k)
	var owed []uint32 // RDMA_DONEs
	xid, granted, calls := uint32(0), 1, 0
	take := func() {
		t.Helper()
		h, _ := r.next()
		if len(h.Reads) != 1 {
			t.Fatalf("answer %+v, want a reply to be read", h)
		}
		granted, owed = int(h.Credits), append(owed, h.XID)
		calls--
	}
	// ask makes a call, if the client may, and waits until it is answered or known to wait.
	ask := func() bool {
		if calls > 0 && calls+len(owed) >= granted {
			return false
		}
		waiting := func() uint64 { s := r.conn.Stats(); return s.Withheld + s.Waited }
		before := waiting()
		xid++
		calls++
		r.send(header(xid, rpcrdma.TypeMsg), callBytes(xid, procSource, &source{1, 5001}))
		waitFor(t, func() bool { return len(r.msgs) > 0 || waiting() > before })
		for len(r.msgs) > 0 {
			take()
		}
		return true
	}
	for len(owed) < credits && ask() {
	}
	answered := make(chan error, 1)
	go func() { answered <- client(c).Call(t.Context(), procNull, nil, nil) }()
	queued := func() bool { _, _, n := r.conn.ReceiveMemory(); return n > 0 }
	waitFor(t, func() bool { return queued() || len(answered) > 0 })
	for rounds := 0; queued(); rounds++ {
		if rounds == 800 {
			t.Fatalf("another client waits while %d replies are read", rounds)
		}
		if len(owed) == 0 {
			take()
		}
		r.done(owed[0])
		owed = owed[1:]
		ask()
	}
	if err := wait(t, answered); err != nil {
		t.Error(err)
	}
}

// TestPinnedStorm has a server with little memory and many clients at once, all of whose long
// replies wait to be read. Some calls are given up, and one client leaves. All others end, and all
// memory comes back.
func TestPinnedStorm(t *testing.T) {
	for _, receives := range []int64{1, 12 * testReceiveSize} {
		inBubble(t, func(t *testing.T) {
			cfg := smallShare
			cfg.NoReplyChunks, cfg.InlineRecv = true, testReceiveSize
			cfg.ServerMemory, cfg.ReceiveMemory = cfg.ConnMemory, receives
			r := newRig(t, cfg)
			var wg sync.WaitGroup
			for i := range 4 {
				c, leaves := r.dial(cfg), i == 0
				for range 5 {
					wg.Go(func() {
						for range 8 {
							ctx, cancel := context.WithCancel(t.Context())
							if rand.IntN(4) == 0 {
								go cancel()
							}
							err := fetchItem(ctx, c, rand.Uint32N(third), nil)
							cancel()
							if err != nil && !errors.Is(err, context.Canceled) &&
								!(leaves && errors.Is(err, net.ErrClosed)) {
								t.Errorf("call: %v", err)
							}
							if leaves && rand.IntN(20) == 0 {
								c.Close()
							}
						}
					})
				}
			}
			wg.Wait() // a deadlock ends the bubble
			r.memoryBack()
		})
	}
}

// fetchItem has the peer make an item, and decodes it into land, if that is there.
func fetchItem(ctx context.Context, c *rpcrdma.Conn, size uint32, land []byte) error {
	var got items
	req := &oncrpc.Request{Procedure: procSource, Args: &source{1, size}, Reply: &got,
		MaxReply: 40 + third}
	if land != nil {
		got = items{data: [][]byte{land}, land: true}
		req.Results, req.MaxReply = got.data, 40
	}
	err := client(c).Do(ctx, req)
	if err == nil && !bytes.Equal(got.data[0], pattern(0, int(size))) {
		err = errors.New("the item differs")
	}
	return err
}
