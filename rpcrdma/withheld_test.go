package rpcrdma_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// Two replies of that many bytes fit in the share of a connection, three do not.
const third = 60_000

var smallShare = rpcrdma.Config{Dialect: rpcrdma.Draft, MaxMessage: 65536, ConnMemory: 131072,
	ServerMemory: 262144, Credits: 16}

// ask sends a call for one item of third bytes.
func (p *rawPeer) ask(xid uint32) {
	p.t.Helper()
	p.send(header(xid, rpcrdma.TypeMsg), callBytes(xid, procSource, &source{1, third}))
}

// answered checks that the next message is a reply to be read, reads it, and returns its header.
func (p *rawPeer) answered(xid uint32) *rpcrdma.Header {
	p.t.Helper()
	h, _ := p.next()
	if h.XID != xid || len(h.Reads) != 1 {
		p.t.Fatalf("answer %+v, want a reply to %d with a read list", h, xid)
	}
	if !bytes.Equal(p.read(h.Reads[0].Segment), pattern(0, third)) {
		p.t.Errorf("reply to %d differs", xid)
	}
	return h
}

// TestWithheld: a client asks for more than its share at once. Replies that do not fit wait for its
// RDMA_DONEs, its new calls wait behind them, and its grants go down to zero (draft section 11).
// Others are served. With the RDMA_DONEs everything continues.
func TestWithheld(t *testing.T) {
	r := newRig(t, smallShare)
	p := r.raw(inline4k)
	p.alive()
	conn := wait(t, r.program.conns)
	other := r.raw(inline4k)
	// Started before the trouble begins.
	p.send(header(50, rpcrdma.TypeMsg), callBytes(50, procBlock, &items{}))
	wait(t, r.program.entered)
	p.send(header(51, rpcrdma.TypeMsg), callBytes(51, procBlock, &items{}))
	wait(t, r.program.entered)
	for xid := range uint32(3) {
		p.ask(1 + xid)
	}
	p.send(header(4, rpcrdma.TypeMsg), callBytes(4, procNull, nil))
	p.answered(1)
	p.answered(2)
	waitFor(t, func() bool { s := conn.Stats(); return s.Withheld == 1 && s.Waited == 1 })

	// Calls that were started are answered, but grant nothing.
	r.program.gate <- struct{}{}
	h, _ := p.next()
	if h.XID != 50 && h.XID != 51 || h.Credits != 0 {
		t.Errorf("reply to %d grants %d while one is withheld, want 0", h.XID, h.Credits)
	}
	r.notFreed()

	// Another client gets its share.
	other.alive()
	other.ask(9)
	other.answered(9)
	other.done(9)
	r.freed(1)
	other.alive()
	if len(p.msgs) > 0 {
		t.Error("a reply left while there was no room for it")
	}

	p.done(1)
	r.freed(1)
	if h := p.answered(3); h.Credits == 0 {
		t.Error("the reply that was withheld grants nothing")
	}
	if h, body := p.next(); h.XID != 4 || !bytes.Equal(body, replyHeader(4)) || h.Credits == 0 {
		t.Errorf("answer to the call that waited: %+v", h)
	}
	p.done(2)
	p.done(3)
	r.freed(2)
	r.program.gate <- struct{}{}
	if h, _ := p.next(); h.Credits == 0 {
		t.Error("nothing is granted when nothing is pinned any more")
	}
	p.alive()
	r.notFreed()
	if got := conn.Stats(); got.Withheld != 1 || got.DonesReceived != 3 || got.DonesIgnored != 0 || got.DonesMissed != 0 {
		t.Errorf("counters %+v", got)
	}
	r.memoryBack(p)
}

// TestWithheldInTurn: many replies are withheld. They leave in order, each when there is room for
// it.
func TestWithheldInTurn(t *testing.T) {
	const calls = 12
	r := newRig(t, smallShare)
	p := r.raw(inline4k)
	p.alive()
	conn := wait(t, r.program.conns)
	for xid := range uint32(calls) {
		p.ask(1 + xid)
	}
	p.answered(1)
	p.answered(2)
	for xid := uint32(1); xid <= calls; xid++ {
		if xid+2 <= calls {
			waitFor(t, func() bool { s := conn.Stats(); return s.Withheld > 0 })
			if len(p.msgs) > 0 {
				t.Fatalf("more than two replies pinned")
			}
		}
		p.done(xid)
		if xid+2 <= calls {
			p.answered(xid + 2)
		}
	}
	r.freed(calls)
	p.alive()
	r.memoryBack(p)
}

// TestWithheldInOrder: a short reply waits behind a longer one that is withheld, even if there is
// room for it. Otherwise short replies might overtake the long one for ever.
func TestWithheldInOrder(t *testing.T) {
	r := newRig(t, smallShare)
	p := r.raw(privateData{Send: 4096, Recv: 1024})
	p.alive()
	conn := wait(t, r.program.conns)
	data := pattern(5, 3000)
	p.send(header(7, rpcrdma.TypeMsg), callBytes(7, procBlock, &items{data: [][]byte{data}}))
	wait(t, r.program.entered)
	for xid := range uint32(3) {
		p.ask(1 + xid)
	}
	p.answered(1)
	p.answered(2)
	waitFor(t, func() bool { return conn.Stats().Withheld == 1 })
	r.program.gate <- struct{}{}
	waitFor(t, func() bool { return conn.Stats().Withheld == 2 || len(p.msgs) > 0 })
	if len(p.msgs) > 0 {
		t.Error("a reply overtook one that was withheld")
	}
	p.done(1)
	p.answered(3)
	h, _ := p.next()
	if h.XID != 7 || len(h.Reads) != 1 || !bytes.Equal(p.read(h.Reads[0].Segment), data) {
		t.Errorf("answer %+v", h)
	}
	for _, xid := range []uint32{7, 2, 3} {
		p.done(xid)
	}
	r.freed(3)
	p.alive()
	r.memoryBack(p)
}

// TestServerShare: several clients pin all of the server's memory. Each may have one pinned reply
// in any case. Its further replies wait for its own RDMA_DONE.
func TestServerShare(t *testing.T) {
	r := newRig(t, smallShare)
	var peers []*rawPeer
	var conns []*rpcrdma.Conn
	for i := range 4 {
		p := r.raw(inline4k)
		p.alive()
		peers, conns = append(peers, p), append(conns, wait(t, r.program.conns))
		p.ask(1)
		// From the third on, this exceeds the server's memory, because nothing is pinned for this
		// client.
		p.answered(1)
		p.ask(2)
		if i == 0 {
			p.answered(2)
			continue
		}
		waitFor(t, func() bool { return conns[i].Stats().Withheld == 1 })
	}
	// In any order.
	for _, i := range []int{2, 0, 3, 1} {
		p := peers[i]
		if len(p.msgs) > 0 {
			t.Errorf("client %d got more than there is room for", i)
		}
		p.done(1)
		if i > 0 {
			p.answered(2)
		}
		p.done(2)
	}
	r.freed(8)
	r.memoryBack(peers...)
}

// TestWithheldStorm: a server with little memory has real clients, which cancel and leave at
// random, and clients that send RDMA_DONEs late or never. All calls end, and all memory is given
// back.
func TestWithheldStorm(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		credits := rapid.IntRange(1, 12).Draw(rt, "credits")
		reals := rapid.IntRange(0, 3).Draw(rt, "real clients")
		slow := rapid.IntRange(0, 3).Draw(rt, "slow clients")
		lcfg := loopback.Config{RecvDepth: rapid.SampledFrom([]int{5, 6, 8, 20, 1024}).Draw(rt, "depth"), SendDepth: rapid.SampledFrom([]int{2, 20, 1024}).Draw(rt, "send depth")}
		cfg := smallShare
		cfg.Logger, cfg.Credits = quiet, credits
		f, prog := loopback.New(), newProgram()
		l, err := f.Listen(rigAddr, lcfg)
		if err != nil {
			rt.Fatal(err)
		}
		srv := oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet})
		srv.Handle(prog.program())
		a := make(chan error, 1)
		go func() { a <- rpcrdma.Serve(context.Background(), l, srv, cfg) }()

		var wg sync.WaitGroup
		var mu sync.Mutex
		var failed []error
		report := func(err error) {
			mu.Lock()
			defer mu.Unlock()
			failed = append(failed, err)
		}
		for n := range reals {
			ccfg := cfg
			ccfg.NoReplyChunks = true
			c, err := rpcrdma.Dial(context.Background(), f.Dialer(lcfg), rigAddr, ccfg)
			if err != nil {
				rt.Fatal(err)
			}
			leaves := rand.New(rand.NewPCG(seed, uint64(n))).IntN(3) == 0
			var callers sync.WaitGroup
			for w := range 6 {
				callers.Go(func() {
					rnd := rand.New(rand.NewPCG(seed, uint64(100*n+w+1000)))
					for range 8 {
						ctx, cancel := context.WithCancel(context.Background())
						if rnd.IntN(4) == 0 {
							go cancel()
						}
						var got items
						size := rnd.IntN(third)
						err := client(c).Do(ctx,
							&oncrpc.Request{Procedure: procSource, Args: &source{1, uint32(size)},
								Reply: &got, MaxReply: 100})
						cancel()
						switch {
						case err == nil:
							if !bytes.Equal(got.data[0], pattern(0, size)) {
								report(errors.New("reply differs"))
							}
						case errors.Is(err, context.Canceled):
						case leaves && errors.Is(err, net.ErrClosed):
						default:
							report(err)
						}
						if leaves && rnd.IntN(20) == 0 {
							c.Close()
						}
					}
				})
			}
			wg.Go(func() {
				hang.Wait(t, "the callers", &callers)
				c.Close()
				hang.Receive(t, "the end of the connection", c.Done())
			})
		}
		for n := range slow {
			ep, err := f.Dialer(lcfg).Dial(context.Background(), rigAddr,
				transport.Private(inline4k.bytes()))
			if err != nil {
				rt.Fatal(err)
			}
			wg.Go(func() {
				if err := slowClient(ep, rand.New(rand.NewPCG(seed, uint64(n+50)))); err != nil {
					report(err)
				}
			})
		}
		ended := make(chan struct{})
		go func() {
			hang.Wait(t, "the callers", &wg)
			close(ended)
		}()
		wait(t, ended)
		srv.Shutdown(context.Background())
		wait(t, a)
		for _, err := range failed {
			rt.Error(err)
		}
		if n, size := f.Domain().Allocated(); n != 0 {
			rt.Errorf("%d pieces of memory leaked, %d bytes", n, size)
		}
	})
}

// slowClient is a client that keeps to the rules of credits, and sends its RDMA_DONEs late, when it
// has to: when its credits are used up. It may leave without them.
func slowClient(ep transport.Endpoint, rnd *rand.Rand) error {
	defer func() {
		ep.Close()
		<-ep.Done()
	}()
	msgs := make(chan rpcrdma.Header, 64)
	post := func() {
		ep.PostRecv(&transport.RecvRequest{Local: []transport.Slice{{Bytes: make([]byte, 4096)}}})
	}
	for range min(ep.Info().RecvDepth, 64) {
		post()
	}
	ep.Start(receiverFunc(func(batch []transport.Message) {
		for _, m := range batch {
			var h rpcrdma.Header
			if _, err := h.Parse(m.Receive.Local[0].Bytes[:m.Len]); err != nil {
				panic(err)
			}
			post()
			msgs <- h
		}
	}))
	send := func(b []byte) error {
		wr := transport.WorkRequest{Op: transport.OpSend, Flags: transport.Signaled,
			Local: []transport.Slice{{Bytes: b}}, Done: make(completer, 1)}
		if err := ep.Post(&wr); err != nil {
			return err
		}
		return <-wr.Done.(completer)
	}
	credits, active, calls, leave := 1, 0, 0, rnd.IntN(3) == 0
	var owed []uint32
	for calls < 30 || active > 0 || len(owed) > 0 {
		if leave && rnd.IntN(30) == 0 {
			return nil
		}
		switch {
		case calls < 30 && (active == 0 && len(owed) == 0 || active+len(owed) < credits):
			calls++
			active++
			h := header(uint32(calls), rpcrdma.TypeMsg)
			if err := send(append(h.Append(nil), callBytes(h.XID, procSource, &source{1, uint32(rnd.IntN(third))})...)); err != nil {
				return err
			}
		case active > 0 && (len(owed) == 0 || rnd.IntN(2) == 0 && len(msgs) > 0):
			select {
			case h := <-msgs:
				if h.Type == rpcrdma.TypeError {
					return errors.New("refused")
				}
				active--
				credits = int(h.Credits)
				if len(h.Reads) > 0 {
					owed = append(owed, h.XID)
				}
			case <-ep.Done():
				return ep.Err()
			}
		case len(owed) > 0:
			i := rnd.IntN(len(owed)) // in any order
			if err := send(header(owed[i], rpcrdma.TypeDone).Append(nil)); err != nil {
				return err
			}
			owed = append(owed[:i], owed[i+1:]...)
		}
	}
	return nil
}

type receiverFunc func([]transport.Message)

func (f receiverFunc) Received(batch []transport.Message) { f(batch) }
