package rpcrdma_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// scribble changes memory, which the race detector minds if somebody still looks at it.
func scribble(p []byte) {
	for i := range p {
		p[i] = 0x55
	}
}

func untouched(t *testing.T, p []byte) {
	t.Helper()
	if !bytes.Equal(p, bytes.Repeat([]byte{0x55}, len(p))) {
		t.Error("memory touched after the call returned")
	}
}

// TestCancelSending cancels calls whose Send has not left, because the peer accepts nothing yet.
func TestCancelSending(t *testing.T) {
	const size = 5000
	c, ep := unstartedServer(t)
	ctx, cancel := context.WithCancel(context.Background())
	inline, long, land := pattern(1, 500), pattern(2, size), make([]byte, size)
	was := bytes.Clone(long)
	s := start(ctx, c, &items{data: [][]byte{inline, long}}, land)
	waitFor(t, func() bool { return c.Stats().CallsSent == 1 })
	cancel()
	if err := wait(t, s.err); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	for _, p := range [][]byte{inline, long, land} {
		scribble(p)
	}
	// Now it is sent after all, unchanged.
	p := newRawPeer(t, ep)
	h, body := p.next()
	if !bytes.Contains(body, pattern(1, 500)) {
		t.Error("the inline argument of the cancelled call differs")
	}
	if got := p.read(h.Reads[0].Segment); !bytes.Equal(got, was) {
		t.Error("the argument of the cancelled call differs")
	}
	p.writeChunk(h.Reply, pattern(3, 100))
	p.send(header(h.XID, rpcrdma.TypeMsg), replyHeader(h.XID), be32(0, 7))
	clientWorks(t, c, p)
	for _, p := range [][]byte{inline, long, land} {
		untouched(t, p)
	}
}

// TestCancelUnderWay cancels a call at each stage after it was sent. The peer continues as if
// nothing had happened. Neither the caller's memory nor other calls are affected.
func TestCancelUnderWay(t *testing.T) {
	const size = 100_000
	for _, stage := range []struct {
		name        string
		read, write int // segments that the peer has read and written
		want        error
	}{
		{"sent", 0, 0, context.Canceled},
		{"half written", 0, 1, context.Canceled},
		{"half read", 1, 0, context.Canceled},
		{"deadline", 0, 0, context.DeadlineExceeded},
	} {
		t.Run(stage.name, func(t *testing.T) {
			c, p := rawServer(t, rpcrdma.Config{SegmentSize: 60_000}, inline4k)
			clientWorks(t, c, p) // opens the window

			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			arg, land := pattern(1, size), make([]byte, size)
			argWas := bytes.Clone(arg)
			s := start(expired{ctx, stage.want}, c, &items{data: [][]byte{arg}}, land)
			h, _ := p.next()
			neighbour := start(context.Background(), c, &items{data: [][]byte{pattern(2, size)}},
				make([]byte, size))
			nh, _ := p.next()
			for _, r := range h.Reads[:stage.read] {
				p.read(r.Segment)
			}
			p.writeChunk(h.Writes[0][:stage.write], pattern(3, size))
			cancel()
			if err := wait(t, s.err); !errors.Is(err, stage.want) {
				t.Fatalf("error %v, want %v", err, stage.want)
			}
			scribble(land)
			scribble(arg)

			// The peer reads the call's memory, and writes to it.
			got := append(p.read(h.Reads[0].Segment), p.read(h.Reads[1].Segment)...)
			if !bytes.Equal(got, argWas) {
				t.Error("the peer reads something else than the arguments of the cancelled call")
			}
			for i, h := range []*rpcrdma.Header{h, nh} {
				p.writeChunk(h.Writes[0], pattern(uint64(4+i), size))
				r := header(h.XID, rpcrdma.TypeMsg)
				r.AddWrite(h.Writes[0])
				p.send(r, result(h.XID, size))
			}
			if err := wait(t, neighbour.err); err != nil {
				t.Fatalf("neighbour: %v", err)
			}
			if !bytes.Equal(neighbour.reply.data[0], pattern(5, size)) {
				t.Error("the neighbour's result differs")
			}
			untouched(t, land)
			untouched(t, arg)
			if _, inFlight, _ := c.Credits(); inFlight != 0 {
				t.Errorf("%d credits in use after both replies", inFlight)
			}
			if got := c.Stats(); got.Cancelled != 1 || got.LateReplies != 1 {
				t.Errorf("counters %+v", got)
			}
		})
	}
}

// expired is a context that ends with this error when the test cancels it.
type expired struct {
	context.Context
	err error
}

func (e expired) Err() error {
	if e.Context.Err() != nil {
		return e.err
	}
	return nil
}

// TestCancelStorm cancels calls at random moments while a real server answers. Other calls, which
// are not cancelled, are under way too.
func TestCancelStorm(t *testing.T) {
	r := newRig(t, rpcrdma.Config{Credits: 8})
	c := r.dial(rpcrdma.Config{Credits: 8})
	const workers, rounds, size = 6, 60, 50_000
	var all sync.WaitGroup
	for w := range workers {
		victim := w%2 == 0
		all.Go(func() {
			for i := range rounds {
				want := pattern(uint64(w*1000+i), size)
				arg, land := bytes.Clone(want), make([]byte, size)
				ctx, cancel := context.WithCancel(context.Background())
				if victim {
					time.AfterFunc(time.Duration(i*5)*time.Microsecond, cancel)
				}
				s := start(ctx, c, &items{data: [][]byte{arg}}, land)
				err := <-s.err
				cancel()
				if err == nil && !bytes.Equal(s.reply.data[0], want) {
					t.Errorf("worker %d round %d: result differs", w, i)
				}
				if err != nil && !(victim && errors.Is(err, context.Canceled)) {
					t.Errorf("worker %d round %d: %v", w, i, err)
				}
				scribble(arg)
				scribble(land)
			}
		})
	}
	hang.Wait(t, "the callers", &all)
	waitFor(t, func() bool { _, inFlight, _ := c.Credits(); return inFlight == 0 })
}

// TestCancelWithoutAbandon cancels calls over a provider that is no transport.Abandoner: the caller
// waits for the reply, and after CancelGrace the connection is closed.
func TestCancelWithoutAbandon(t *testing.T) {
	for _, answered := range []bool{true, false} {
		t.Run(fmt.Sprint("answered ", answered), func(t *testing.T) {
			cfg := rpcrdma.Config{CancelGrace: time.Millisecond}
			if answered {
				cfg.CancelGrace = patience
			}
			c, p := rawServerOn(t, cfg, inline4k, onlyImporter)
			ctx, cancel := context.WithCancel(context.Background())
			arg := pattern(1, 9000)
			s := start(ctx, c, &items{data: [][]byte{arg}}, make([]byte, 9000))
			h, _ := p.next()
			cancel()
			waitFor(t, func() bool { return c.Stats().Cancelled == 1 })
			if answered {
				p.send(header(h.XID, rpcrdma.TypeMsg), replyHeader(h.XID), be32(0, 7))
			}
			if err := wait(t, s.err); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			scribble(arg)
			if answered {
				clientWorks(t, c, p)
			} else {
				ended(t, c)
			}
		})
	}
}

// withoutAbilities hides a provider's optional abilities.
func withoutAbilities(ep transport.Endpoint) transport.Endpoint { return plainEndpoint{ep, false} }

// onlyImporter hides a provider's optional abilities except Importer.
func onlyImporter(ep transport.Endpoint) transport.Endpoint { return plainEndpoint{ep, true} }

type plainEndpoint struct {
	transport.Endpoint
	imports bool
}

func (e plainEndpoint) Domain() transport.Domain {
	if e.imports {
		return e.Endpoint.Domain()
	}
	return plainDomain{e.Endpoint.Domain()}
}

type plainDomain struct{ transport.Domain }

// TestCancelledNotAnswered ends a connection that owes a reply to a cancelled call.
func TestCancelledNotAnswered(t *testing.T) {
	c, p := rawServer(t, rpcrdma.Config{}, inline4k)
	ctx, cancel := context.WithCancel(context.Background())
	s := start(ctx, c, &items{data: [][]byte{make([]byte, 9000)}}, make([]byte, 9000))
	p.next()
	cancel()
	if err := wait(t, s.err); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	p.ep.Close()
	ended(t, c)
}
