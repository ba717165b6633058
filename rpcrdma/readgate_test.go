package rpcrdma_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// gated is a client on a provider that holds RDMA Reads back, and the peer of it. The client serves, too.
type gated struct {
	t    *testing.T
	c    *rpcrdma.Conn
	p    *rawPeer
	held *heldReads
	prog *program
}

func newGated(t *testing.T, cfg rpcrdma.Config) *gated {
	holder := newReadHolder()
	c, p := rawServerOn(t, cfg, inline4k, holder.wrap)
	g := &gated{t, c, p, wait(t, holder.made), newProgram()}
	back := oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet})
	back.Handle(g.prog.program())
	t.Cleanup(func() { back.Close() })
	c.Serve(back)
	goesOn(t, c, p)
	p.alive() // which brings credits
	return g
}

// limit has the peer say how many Reads it serves.
func (g *gated) limit(n int) {
	g.c.UpdateSettings(func(s *rpcrdma.Settings) { s.Reads = n })
}

// under checks that there are so many Reads under way, and no more to come.
func (g *gated) under(n int) {
	g.t.Helper()
	waitFor(g.t, func() bool { return len(g.held.reads) >= n })
	if got := len(g.held.reads); got != n {
		g.t.Errorf("%d RDMA Reads under way, want %d", got, n)
	}
}

// reply starts a call and leaves its reply in n segments to be read.
func (g *gated) reply(n int) (s *started, data []byte) {
	g.t.Helper()
	s = start(g.t.Context(), g.c, &items{}, nil)
	h, _ := g.p.next()
	data = pattern(uint64(h.XID), n*100)
	r := header(h.XID, rpcrdma.TypeMsg)
	for i := range n {
		r.Reads = append(r.Reads, g.p.readSegments(36, data[i*100:(i+1)*100])...)
	}
	g.p.send(r, result(h.XID, len(data)))
	return s, data
}

// TestReadLimit has replies, calls and long calls be read in more segments than the peer serves Reads at once: there are never more
// under way (draft section 6.2).
func TestReadLimit(t *testing.T) {
	const n = 7
	for _, limit := range []int{1, 2, 3, 15} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			g := newGated(t, rpcrdma.Config{Dialect: rpcrdma.Draft})
			g.limit(limit)
			first, data := g.reply(n)
			second, data2 := g.reply(n)
			// Two calls of the peer's as well, one of them long.
			rc := newReadCall(g.p, 1, false, 50, 60, 70)
			g.p.send(rc.h, rc.body)
			long := header(2, rpcrdma.TypeNoMsg)
			m := callBytes(2, procNull, nil)
			long.Reads = g.p.readSegments(0, m[:12], m[12:])
			g.p.send(long)
			all := 2*n + 3 + 2
			for left := all; left > 0; left-- {
				// The handler fetches one item after the other: not all are posted from the beginning.
				waitFor(t, func() bool { return len(g.held.reads) > 0 })
				if got := len(g.held.reads); got > limit {
					t.Fatalf("%d RDMA Reads under way, %d allowed", got, limit)
				}
				if left == all {
					g.under(min(limit, 2*n+1+2))
				}
				g.held.release(t, 1)
			}
			for i, s := range []*started{first, second} {
				if err := wait(t, s.err); err != nil || !bytes.Equal(s.reply.data[0], [][]byte{data, data2}[i]) {
					t.Errorf("reply %d differs, or error %v", i, err)
				}
			}
			if got := wait(t, g.prog.calls); !bytes.Equal(got.data[2], rc.want.data[2]) {
				t.Error("the arguments of the peer's call differ")
			}
			if most := int(g.held.most.Load()); most != min(limit, 2*n+1+2) {
				t.Errorf("%d Reads under way at most, want %d", most, limit)
			}
		})
	}
}

// TestReadLimitChanges raises, lowers and lifts the limit while Reads are under way and others wait.
func TestReadLimitChanges(t *testing.T) {
	const n = 12
	tests := []struct {
		name string
		do   func(g *gated) (released int)
	}{
		{"raised", func(g *gated) int {
			g.limit(5)
			g.held.release(g.t, 1)
			g.under(5)
			return 1
		}},
		{"lowered", func(g *gated) int {
			g.limit(1)
			g.held.release(g.t, 1)
			g.under(1)
			g.held.release(g.t, 1)
			g.under(1)
			return 2
		}},
		{"lifted", func(g *gated) int {
			g.limit(16)
			g.held.release(g.t, 1)
			g.under(n - 1)
			return 1
		}},
		{"to none at all", func(g *gated) int { // what was accepted goes on, one by one
			g.limit(0)
			g.held.release(g.t, 2)
			g.under(1)
			return 2
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := newGated(t, rpcrdma.Config{Dialect: rpcrdma.Draft})
			g.limit(2)
			s, data := g.reply(n)
			g.under(2)
			g.held.release(t, n-tt.do(g))
			if err := wait(t, s.err); err != nil || !bytes.Equal(s.reply.data[0], data) {
				t.Errorf("the reply differs, or error %v", err)
			}
			g.p.next() // RDMA_DONE
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
			g := newGated(t, rpcrdma.Config{Dialect: rpcrdma.Draft})
			g.limit(2)
			var all []*started
			for range 3 {
				s, _ := g.reply(4)
				all = append(all, s)
			}
			rc := newReadCall(g.p, 1, false, 50, 60)
			g.p.send(rc.h, rc.body)
			g.under(2)
			if side == "theirs" {
				g.p.ep.Close()
			} else {
				g.c.Close()
			}
			for _, s := range all {
				if err := wait(t, s.err); !errors.Is(err, net.ErrClosed) && !errors.Is(err, transport.ErrFlushed) {
					t.Errorf("error %v, want %v", err, net.ErrClosed)
				}
			}
			ended(t, g.c)
			waitFor(t, func() bool { return len(g.prog.calls) == 0 })
		})
	}
}
