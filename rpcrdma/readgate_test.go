package rpcrdma_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// leftReply is a call whose reply the client reads.
type leftReply struct {
	*started
	data []byte
}

// leaveReply starts a call and leaves its reply in n segments to be read.
func (r *bothWays) leaveReply(n int) *leftReply {
	r.t.Helper()
	s, data := r.reply(n)
	return &leftReply{s, data}
}

// check waits for the call.
func (r *leftReply) check(t *testing.T) {
	t.Helper()
	if err := wait(t, r.err); err != nil || !bytes.Equal(r.reply.data[0], r.data) {
		t.Errorf("the reply differs, or error %v", err)
	}
}

// TestReadLimit reads replies, calls and long calls with more segments than the peer serves Reads
// at once, which is the ORD if it does not say so. There are never more under way. The others wait
// here, not in the provider's queue, where replies would have to wait for them.
func TestReadLimit(t *testing.T) {
	const n, all = 9, 2*9 + 3 + 2
	for _, limit := range []int{1, 3, 0} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			g := newBothWays(t, rpcrdma.Config{})
			most := g.c.Info().ORD
			if limit > 0 {
				g.limitReads(limit)
				most = limit
			}
			first, second := g.leaveReply(n), g.leaveReply(n)
			// Two calls by the peer as well, one of them long.
			rc := newReadCall(g.rawPeer, 1, false, 50, 60, 70)
			g.send(rc.h, rc.body)
			m := callBytes(2, procNull, nil)
			long := header(2, rpcrdma.TypeNoMsg)
			long.Reads = g.readSegments(0, m[:12], m[12:])
			g.send(long)
			g.wantReads(most)
			g.send(header(3, rpcrdma.TypeMsg), callBytes(3, procNull, nil))
			if h, _ := g.next(); h.XID != 3 {
				t.Errorf("message with XID %d, want the reply to call 3", h.XID)
			}
			for range all {
				// The handler fetches the items one by one, so not all are posted at first.
				waitFor(t, func() bool { return len(g.held.queue) > 0 })
				if got := len(g.held.queue); got > most {
					t.Fatalf("%d RDMA Reads under way, %d allowed", got, most)
				}
				g.held.release(t, 1)
			}
			first.check(t)
			second.check(t)
			if got := wait(t, g.program.calls); !bytes.Equal(got.data[2], rc.want.data[2]) {
				t.Error("the arguments of the peer's call differ")
			}
			if got := int(g.held.most.Load()); got != most {
				t.Errorf("%d Reads under way at most, want %d", got, most)
			}
		})
	}
}

// TestReadPieces reads long calls on a path that is known. They are read in pieces, if several may
// be under way: of 256 KiB, or of more if the path holds more.
func TestReadPieces(t *testing.T) {
	for _, tt := range []struct {
		name         string
		round        time.Duration
		limit, bytes int
		want         int // Reads under way
	}{
		{"near", 10 * time.Millisecond, 16, 1 << 20, 4},
		{"far", 100 * time.Millisecond, 4, 2 << 20, 3}, // 3 MiB, divided by 4
		{"few", 10 * time.Millisecond, 2, 1 << 20, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				g := newBothWays(t, rpcrdma.Config{})
				g.limitReads(tt.limit)
				data := pattern(1, tt.bytes-100)
				call := callBytes(2, procSink, &items{data: [][]byte{data}})
				want := 1 // before the path is known
				for start := time.Now(); time.Since(start) < 200*time.Millisecond; {
					g.long(2, call)
					g.wantReads(want)
					time.Sleep(tt.round)
					g.held.release(t, want)
					if got := wait(t, g.program.calls); !bytes.Equal(got.data[0], data) {
						t.Fatal("the data differs")
					}
					g.next()
					if time.Since(start) >= 50*time.Millisecond {
						want = tt.want
					}
				}
			})
		})
	}
}

// TestReadLimitChanges raises, lowers and lifts the limit of two while Reads are under way and
// others wait. If it is lowered, no new one is posted until the number under way is below it.
func TestReadLimitChanges(t *testing.T) {
	const n = 12
	for _, tt := range []struct {
		name        string
		limit       int
		release     int
		want, after int // the Reads under way when these are complete, and another one
	}{
		{"raised", 5, 1, 5, 5},
		{"lowered", 1, 1, 1, 1},
		{"lifted", 16, 1, n - 1, n - 2},
		{"to none at all", 0, 2, 1, 1}, // accepted messages proceed one by one
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newBothWays(t, rpcrdma.Config{})
			g.limitReads(2)
			r := g.leaveReply(n)
			g.wantReads(2)
			g.limitReads(tt.limit)
			g.held.release(t, tt.release)
			g.wantReads(tt.want)
			g.held.release(t, 1)
			g.wantReads(tt.after)
			g.held.release(t, n-tt.release-1)
			r.check(t)
		})
	}
}
