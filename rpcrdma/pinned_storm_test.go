package rpcrdma_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// procBack is a procedure that calls the caller back, and returns nothing.
const procBack = 6

// TestPinnedStorm has a server with little memory of every kind, and many clients at once: real
// ones, which are called back, give calls up and leave; ones that are slow with their RDMA_DONEs;
// ones that send none, but some for nothing, until they are cut off. In the Draft all replies that
// are long wait to be read, in both directions. All calls of the others end, and all memory comes
// back.
func TestPinnedStorm(t *testing.T) {
	for provider := range providers {
		for _, dialect := range []rpcrdma.Dialect{rpcrdma.RFC8166, rpcrdma.Draft} {
			for _, receives := range []int{0, 12} {
				t.Run(fmt.Sprintf("%s/%v/%d", provider, dialect, receives), func(t *testing.T) {
					seed := rand.Uint64()
					t.Logf("seed %#x", seed)
					s := &storm{t: t, rnd: rand.New(rand.NewPCG(seed, 0)), cfg: rpcrdma.Config{
						Dialect: dialect, MaxMessage: rpcrdma.MaxInline, ConnMemory: 2 * rpcrdma.MaxInline, ServerMemory: 2 * rpcrdma.MaxInline,
						ReceiveMemory: max(1, int64(receives)*testReceiveSize), PeerTimeout: time.Hour, NoReplyChunks: true,
					}}
					if provider != "loopback" {
						s.run(provider)
						return
					}
					// Virtual time passes only when everything is idle, so only the last ones are
					// too late.
					s.cfg.PeerTimeout = time.Second
					inBubble(t, func(t *testing.T) {
						s.t = t
						s.run(provider)
					})
				})
			}
		}
	}
}

// storm is the clients of a server, and what has become of them.
type storm struct {
	t   testing.TB
	rnd *rand.Rand
	cfg rpcrdma.Config
	cr  *manyClients
	wg  sync.WaitGroup // clients that must finish
}

func (s *storm) run(provider string) {
	const reals, slow, greedy = 4, 3, 3
	s.cfg.Credits = 1 + s.rnd.IntN(8)
	s.cr = newManyClients(s.t, provider, 0, s.cfg)
	s.cr.server.Handle(oncrpc.Program{Number: testProgram, Version: 2, Procedures: []oncrpc.Procedure{
		procBack: {Name: "BACK", Handler: func(ctx context.Context, c *oncrpc.Call) error {
			size := c.Args.Uint32()
			return fetchItem(ctx, c.Conn.(*rpcrdma.Conn), size)
		}},
	}})
	back := oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet})
	back.Handle(newProgram().program())
	defer back.Close()

	var conns []*rpcrdma.Conn
	if s.cfg.Dialect == rpcrdma.Draft {
		for range greedy {
			p := s.cr.raw(inline4k)
			p.alive()
			c := wait(s.t, s.cr.program.conns)
			conns = append(conns, c)
			rnd := s.fork()
			s.wg.Go(func() { neverDone(p, rnd) })
			// In real time, the client leaves once it gets nothing more.
			if provider != "loopback" {
				s.wg.Go(func() {
					waitRight(s.t, func() (wrong string) {
						if s := c.Stats(); s.Withheld+s.HeldUp == 0 && c.Err() == nil {
							wrong = "all replies of a client are sent that acknowledges none"
						}
						return wrong
					})
					p.ep.Close()
				})
			}
		}
		for range slow {
			ep, rnd := s.cr.endpoint(inline4k), s.fork()
			s.wg.Go(func() {
				if err := slowClient(ep, rnd); err != nil {
					s.t.Errorf("slow client: %v", err)
				}
			})
		}
	}
	for range reals {
		s.real(back)
	}
	over := make(chan struct{})
	go func() {
		s.wg.Wait()
		close(over)
	}()
	if provider == "loopback" {
		<-over // may take many times PeerTimeout in virtual time; a deadlock ends the bubble
	} else {
		wait(s.t, over)
	}

	p := s.cr.raw(inline4k)
	p.alive()
	for len(s.cr.program.conns) > 0 {
		conns = append(conns, <-s.cr.program.conns)
	}
	last := conns[len(conns)-1]
	p.ep.Close()
	ended(s.t, last)
	waitFor(s.t, func() bool {
		free, all, queued := last.ReceiveMemory()
		return free == all && queued == 0
	})
	s.cr.memoryBack()
	for i, c := range conns {
		err := c.Err()
		if errors.Is(err, rpcrdma.ErrCreditsExceeded) {
			s.t.Error(err)
		}
		if cut := provider == "loopback" && s.cfg.Dialect == rpcrdma.Draft && i < greedy; cut && !errors.Is(err, rpcrdma.ErrStalled) {
			s.t.Errorf("a client that acknowledges nothing ended with %v, want %v", err,
				rpcrdma.ErrStalled)
		}
	}
}

func (s *storm) fork() *rand.Rand { return rand.New(rand.NewPCG(s.rnd.Uint64(), 1)) }

// real has a client make calls of all kinds.
func (s *storm) real(back *oncrpc.Server) {
	const callers, calls = 5, 8
	cfg := s.cfg
	cfg.Logger, cfg.Credits, cfg.InlineRecv = quiet, 1+s.rnd.IntN(8), 4096
	c, err := rpcrdma.Dial(context.Background(), s.cr.dialer, s.cr.addr, cfg)
	if err != nil {
		s.t.Fatal(err)
	}
	c.Serve(back)
	leaves := s.rnd.IntN(3) == 0
	var wg sync.WaitGroup
	for range callers {
		rnd := s.fork()
		wg.Go(func() {
			for range calls {
				ctx, cancel := context.WithCancel(context.Background())
				if rnd.IntN(4) == 0 {
					go cancel()
				}
				err := anyCall(ctx, c, rnd)
				cancel()
				switch {
				case err == nil, errors.Is(err, context.Canceled), leaves && errors.Is(err, net.ErrClosed):
				default:
					s.t.Errorf("call: %v", err)
				}
				if leaves && rnd.IntN(20) == 0 {
					c.Close()
				}
			}
		})
	}
	s.wg.Go(func() {
		wg.Wait()
		c.Close()
		<-c.Done()
	})
}

// anyCall makes one call.
func anyCall(ctx context.Context, c *rpcrdma.Conn, rnd *rand.Rand) error {
	switch rnd.IntN(4) {
	case 0:
		return client(c).Call(ctx, procNull, nil, nil)
	case 1:
		a := &items{data: [][]byte{pattern(1, rnd.IntN(third))}}
		var got items
		err := client(c).Do(ctx, &oncrpc.Request{Procedure: procEcho, Args: a, Reply: &got, MaxReply: a.len() + third})
		if err == nil && !bytes.Equal(got.data[0], a.data[0]) {
			err = errors.New("the echo differs")
		}
		return err
	case 2:
		two := oncrpc.NewClient(c, testProgram, 2, oncrpc.AuthNone())
		return two.Call(ctx, procBack, &source{uint32(rnd.IntN(third)), 0}, nil)
	default:
		return fetchItem(ctx, c, uint32(rnd.IntN(third)))
	}
}

// fetchItem has the peer make an item.
func fetchItem(ctx context.Context, c *rpcrdma.Conn, size uint32) error {
	var got items
	err := client(c).Do(ctx, &oncrpc.Request{Procedure: procSource, Args: &source{1, size}, Reply: &got, MaxReply: 40 + third})
	if err == nil && !bytes.Equal(got.data[0], pattern(0, int(size))) {
		err = errors.New("the item differs")
	}
	return err
}

// neverDone is a client that calls as often as it may, and acknowledges nothing that it was left to
// read.
func neverDone(p *rawPeer, rnd *rand.Rand) {
	send := func(b []byte) {
		wr := transport.WorkRequest{Op: transport.OpSend, Flags: transport.Signaled,
			Local: []transport.Slice{{Bytes: b}}, Done: make(completer, 1)}
		if p.ep.Post(&wr) == nil {
			<-wr.Done.(completer)
		}
	}
	for xid := uint32(1); ; xid++ {
		send(append(header(xid, rpcrdma.TypeMsg).Append(nil), callBytes(xid, procSource, &source{1, 5000 + uint32(rnd.IntN(third-5000))})...))
		select {
		case <-p.msgs:
		case <-p.ep.Done():
			return
		}
		if rnd.IntN(4) == 0 {
			send(header(1000+xid, rpcrdma.TypeDone).Append(nil))
		}
	}
}
