package rpcrdma_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// TestReadLimit reads replies, calls and long calls with more segments than the peer serves Reads
// at once. There are never more under way (draft section 6.2).
func TestReadLimit(t *testing.T) {
	const n = 7
	for _, limit := range []int{1, 2, 3, 15} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			g := newBothWays(t, rpcrdma.Config{})
			g.limitReads(limit)
			first, data := g.reply(n)
			second, data2 := g.reply(n)
			// Two calls by the peer as well, one of them long.
			rc := newReadCall(g.rawPeer, 1, false, 50, 60, 70)
			g.send(rc.h, rc.body)
			long := header(2, rpcrdma.TypeNoMsg)
			m := callBytes(2, procNull, nil)
			long.Reads = g.readSegments(0, m[:12], m[12:])
			g.send(long)
			all := 2*n + 3 + 2
			for left := all; left > 0; left-- {
				// The handler fetches the items one by one, so not all are posted at first.
				waitFor(t, func() bool { return len(g.held.queue) > 0 })
				if got := len(g.held.queue); got > limit {
					t.Fatalf("%d RDMA Reads under way, %d allowed", got, limit)
				}
				if left == all {
					g.wantReads(min(limit, 2*n+1+2))
				}
				g.held.release(t, 1)
			}
			for i, s := range []*started{first, second} {
				if err := wait(t, s.err); err != nil || !bytes.Equal(s.reply.data[0], [][]byte{data, data2}[i]) {
					t.Errorf("reply %d differs, or error %v", i, err)
				}
			}
			if got := wait(t, g.program.calls); !bytes.Equal(got.data[2], rc.want.data[2]) {
				t.Error("the arguments of the peer's call differ")
			}
			if most := int(g.held.most.Load()); most != min(limit, 2*n+1+2) {
				t.Errorf("%d Reads under way at most, want %d", most, limit)
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

// TestReadLimitOfConnection needs more RDMA Reads than the ORD. The others wait here, not in the
// provider's queue, where replies would have to wait for them.
func TestReadLimitOfConnection(t *testing.T) {
	g := newBothWays(t, rpcrdma.Config{})
	ord := g.c.Info().ORD
	s, data := g.reply(ord + 4)
	g.wantReads(ord)
	call := header(1, rpcrdma.TypeMsg)
	g.send(call, callBytes(1, procNull, nil))
	if h, _ := g.next(); h.XID != 1 {
		t.Errorf("message with XID %d, want the reply to call 1", h.XID)
	}
	g.held.release(t, ord+4)
	if err := wait(t, s.err); err != nil || !bytes.Equal(s.reply.data[0], data) {
		t.Errorf("the reply differs, or error %v", err)
	}
	if most := int(g.held.most.Load()); most != ord {
		t.Errorf("%d Reads under way at most, want %d", most, ord)
	}
}

// TestReadLimitCountsAll: the peer lowers the number of Reads it serves while more are under way.
// No new one is posted until the number under way is below that (draft section 6.2).
func TestReadLimitCountsAll(t *testing.T) {
	const n, limit = 12, 2
	g := newBothWays(t, rpcrdma.Config{})
	first, data := g.reply(n)
	g.wantReads(n)
	g.limitReads(limit)
	second, data2 := g.reply(n)
	for left := n; left > limit; left-- {
		g.held.release(t, 1)
		g.wantReads(left - 1)
	}
	for range n {
		g.held.release(t, 1)
		g.wantReads(limit)
	}
	g.held.release(t, limit)
	for i, s := range []*started{first, second} {
		if err := wait(t, s.err); err != nil || !bytes.Equal(s.reply.data[0], [][]byte{data, data2}[i]) {
			t.Errorf("reply %d differs, or error %v", i, err)
		}
	}
}

// TestReadLimitChanges raises, lowers and lifts the limit while Reads are under way and others
// wait.
func TestReadLimitChanges(t *testing.T) {
	const n = 12
	tests := []struct {
		name string
		do   func(g *bothWays) (released int)
	}{
		{"raised", func(g *bothWays) int {
			g.limitReads(5)
			g.held.release(g.t, 1)
			g.wantReads(5)
			return 1
		}},
		{"lowered", func(g *bothWays) int {
			g.limitReads(1)
			g.held.release(g.t, 1)
			g.wantReads(1)
			g.held.release(g.t, 1)
			g.wantReads(1)
			return 2
		}},
		{"lifted", func(g *bothWays) int {
			g.limitReads(16)
			g.held.release(g.t, 1)
			g.wantReads(n - 1)
			return 1
		}},
		{"to none at all", func(g *bothWays) int { // accepted messages proceed one by one
			g.limitReads(0)
			g.held.release(g.t, 2)
			g.wantReads(1)
			return 2
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := newBothWays(t, rpcrdma.Config{})
			g.limitReads(2)
			s, data := g.reply(n)
			g.wantReads(2)
			g.held.release(t, n-tt.do(g))
			if err := wait(t, s.err); err != nil || !bytes.Equal(s.reply.data[0], data) {
				t.Errorf("the reply differs, or error %v", err)
			}
			g.next() // RDMA_DONE
			if g.c.Settings().Reads > 0 {
				s, data = g.reply(3)
				g.held.release(t, 3)
				if err := wait(t, s.err); err != nil || !bytes.Equal(s.reply.data[0], data) {
					t.Errorf("the next reply differs, or error %v", err)
				}
			}
		})
	}
}

// TestReadLimitEnds ends the connection while Reads are under way and others wait.
func TestReadLimitEnds(t *testing.T) {
	for _, side := range []string{"ours", "theirs"} {
		t.Run(side, func(t *testing.T) {
			g := newBothWays(t, rpcrdma.Config{})
			g.limitReads(2)
			var all []*started
			for range 3 {
				s, _ := g.reply(4)
				all = append(all, s)
			}
			rc := newReadCall(g.rawPeer, 1, false, 50, 60)
			g.send(rc.h, rc.body)
			g.wantReads(2)
			if side == "theirs" {
				g.ep.Close()
			} else {
				g.c.Close()
			}
			for _, s := range all {
				if err := wait(t, s.err); !errors.Is(err, net.ErrClosed) && !errors.Is(err, transport.ErrFlushed) {
					t.Errorf("error %v, want %v", err, net.ErrClosed)
				}
			}
			ended(t, g.c)
			waitFor(t, func() bool { return len(g.program.calls) == 0 })
		})
	}
}
