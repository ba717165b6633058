package rpcrdma_test

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// linuxClient is a client with the receives of Linux (xprtrdma of 6.1): it posts some when it
// connects, and otherwise only when it handles a reply to a call of its own. It handles messages
// one by one, when the test says so (handle). The provider takes them before.
type linuxClient struct {
	t  testing.TB
	ep transport.Endpoint

	mu      sync.Mutex // guards what follows
	posted  int
	arrived [][]byte // messages that it has not handled

	// Only the test touches these.
	xid     uint32
	asks    uint32          // credits that it asks for
	window  int             // calls that it may have under way
	pending map[uint32]bool // its calls
	calls   []uint32        // calls of the server handled and not answered
}

const (
	linuxRecvBatch    = 7  // RPCRDMA_MAX_RECV_BATCH
	linuxBackward     = 32 // RPCRDMA_BACKWARD_WRS
	linuxBackwardSlot = 16 // credits for backward calls
	linuxCredits      = 128
)

func (r *rig) linux(asks uint32) *linuxClient {
	r.t.Helper()
	p := &linuxClient{t: r.t, ep: r.endpoint(inline4k), asks: asks, window: 1,
		pending: make(map[uint32]bool)}
	p.post(1)
	p.ep.Start(p)
	r.t.Cleanup(func() {
		p.ep.Close()
		<-p.ep.Done()
	})
	return p
}

// post is rpcrdma_post_recvs.
func (p *linuxClient) post(needed int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.posted > needed {
		return
	}
	for n := needed - p.posted + linuxRecvBatch; n > 0; n-- {
		p.ep.PostRecv(&transport.RecvRequest{Local: []transport.Slice{{Bytes: make([]byte, 4096)}}})
		p.posted++
	}
}

func (p *linuxClient) Received(batch []transport.Message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range batch {
		p.posted--
		p.arrived = append(p.arrived, m.Receive.Local[0].Bytes[:m.Len])
	}
}

// handle handles the oldest message, as rpcrdma_reply_handler does. It reports whether there was
// one.
func (p *linuxClient) handle() bool {
	p.t.Helper()
	p.mu.Lock()
	var b []byte
	if len(p.arrived) > 0 {
		b, p.arrived = p.arrived[0], p.arrived[1:]
	}
	p.mu.Unlock()
	if b == nil {
		return false
	}
	var h rpcrdma.Header
	n, err := h.Parse(b)
	if err != nil {
		p.t.Fatal(err)
	}
	if oncrpc.MsgType(binary.BigEndian.Uint32(b[n+4:])) == oncrpc.MsgCall {
		p.calls = append(p.calls, h.XID) // posts nothing
		return true
	}
	if !p.pending[h.XID] {
		p.t.Fatalf("reply to no call: %d", h.XID)
	}
	delete(p.pending, h.XID)
	p.window = int(max(1, h.Credits))
	p.post(p.window + linuxBackward)
	return true
}

// call makes a call. It reports whether there was a credit for it.
func (p *linuxClient) call() bool {
	if len(p.pending) >= p.window {
		return false
	}
	p.sendCall(testProgram, procNull)
	return true
}

func (p *linuxClient) sendCall(program, proc uint32) {
	p.xid++
	p.pending[p.xid] = true
	h, b := header(p.xid, rpcrdma.TypeMsg), callBytes(p.xid, proc, nil)
	h.Credits = p.asks
	binary.BigEndian.PutUint32(b[12:], program)
	p.send(h, b)
}

// answer answers one of the server's calls. It reports whether there was one.
func (p *linuxClient) answer(i int) bool {
	if len(p.calls) == 0 {
		return false
	}
	i %= len(p.calls)
	xid := p.calls[i]
	p.calls[i] = p.calls[len(p.calls)-1]
	p.calls = p.calls[:len(p.calls)-1]
	h := header(xid, rpcrdma.TypeMsg)
	h.Credits = linuxBackwardSlot
	p.send(h, replyHeader(xid))
	return true
}

func (p *linuxClient) send(h *rpcrdma.Header, body []byte) {
	wr := transport.WorkRequest{Op: transport.OpSend, Flags: transport.Signaled,
		Local: []transport.Slice{{Bytes: append(h.Append(nil), body...)}}, Done: make(completer, 1)}
	if err := p.ep.Post(&wr); err != nil && !errors.Is(err, net.ErrClosed) {
		p.t.Error(err)
	}
}

// settle handles and answers until nothing happens any more, in a bubble.
func (p *linuxClient) settle() {
	p.t.Helper()
	for synctest.Wait(); p.handle() || p.answer(0); synctest.Wait() {
	}
}

// exchange makes a call and settles. So the server has sent a reply.
func (p *linuxClient) exchange() {
	p.t.Helper()
	if !p.call() {
		p.t.Fatal("no credit")
	}
	p.settle()
	if len(p.pending) > 0 {
		p.t.Fatal("no reply")
	}
}

// connected returns a Linux client that has made a call, and its connection at the server.
func (r *rig) connected(asks uint32) (*linuxClient, *callsBack) {
	r.t.Helper()
	p := r.linux(asks)
	for len(r.program.conns) > 0 {
		<-r.program.conns
	}
	p.exchange()
	return p, &callsBack{t: r.t, conn: <-r.program.conns}
}

// callsBack are calls of a server to a client.
type callsBack struct {
	t     testing.TB
	conn  *rpcrdma.Conn
	mu    sync.Mutex // guards what follows
	made  int
	ended int
	errs  []error
}

// make makes n calls at the same time.
func (b *callsBack) make(ctx context.Context, n int) {
	b.made += n
	for range n {
		go func() {
			err := client(b.conn).Call(ctx, procNull, nil, nil)
			b.mu.Lock()
			defer b.mu.Unlock()
			b.ended++
			if err != nil {
				b.errs = append(b.errs, err)
			}
		}()
	}
}

// check checks how many calls have ended without an error, and how many wait.
func (b *callsBack) check(ended, waiting int) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	_, inUse, wait := b.conn.Credits()
	if len(b.errs) > 0 {
		b.t.Fatalf("%d calls have failed, the first with %v", len(b.errs), b.errs[0])
	}
	if b.ended != ended || wait != waiting || inUse != 0 {
		b.t.Fatalf("%d calls have ended, %d wait, %d are under way; want %d, %d, 0", b.ended, wait,
			inUse, ended, waiting)
	}
}

// TestLimitBackwardCalls: a server calls an idle Linux client back. Without the setting that ends
// the connection. With it calls wait for replies to the client's own calls, and none is lost.
func TestLimitBackwardCalls(t *testing.T) {
	const calls, most = 150, 31 // one of 32 is kept until the next reply
	for _, limit := range []bool{false, true} {
		name := "refills by itself"
		if limit {
			name = "refills by replies"
		}
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				r := newRig(t, rpcrdma.Config{LimitBackwardCalls: limit})
				for range 2 { // the second time after a reconnect
					p, b := r.connected(linuxCredits)
					b.make(t.Context(), calls)
					p.settle()
					if !limit {
						if err := b.conn.Err(); !errors.Is(err, transport.ErrNoReceive) {
							t.Errorf("the connection ended with %v, want %v", err, transport.ErrNoReceive)
						}
						continue
					}
					for done := most; done < calls; done += most {
						b.check(done, calls-done)
						p.exchange()
					}
					b.check(calls, 0)
					if n := b.conn.Traffic().CreditWaits; n == 0 {
						t.Error("no call that waited was counted")
					}
					p.ep.Close()
					synctest.Wait()
				}
			})
		})
	}
}

// TestLimitBackwardFirst: before the client has had a reply, it has receives for seven calls.
func TestLimitBackwardFirst(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, rpcrdma.Config{LimitBackwardCalls: true})
		enter := make(chan *rpcrdma.Conn, 1)
		leave := make(chan struct{})
		r.server.Handle(oncrpc.Program{Number: testProgram + 1, Version: 1,
			Procedures: []oncrpc.Procedure{1: {Handler: func(_ context.Context, c *oncrpc.Call) error {
				enter <- c.Conn.(*rpcrdma.Conn)
				<-leave
				return nil
			}}}})
		p := r.linux(linuxCredits)
		p.sendCall(testProgram+1, 1)
		b := &callsBack{t: t, conn: <-enter}
		b.make(t.Context(), 20)
		p.settle()
		b.check(6, 14) // one of seven is kept

		leave <- struct{}{}
		synctest.Wait()
		if _, inUse, waiting := b.conn.Credits(); inUse != 1 || waiting != 13 {
			t.Errorf("behind the first reply, which is not handled, %d calls were sent and %d wait, "+
				"want 1 and 13", inUse, waiting)
		}
		p.settle()
		b.check(20, 0)
	})
}

// TestLimitBackwardBusy: calls and replies cross as they may, and the client handles them late. It
// always has a receive.
func TestLimitBackwardBusy(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.SampledFrom([]int{20, 100}).Draw(rt, "number of steps")
		steps := rapid.SliceOfN(rapid.IntRange(0, 19), n, n).Draw(rt, "steps")
		asks := rapid.SampledFrom([]uint32{1, 2, linuxCredits}).Draw(rt, "credits")
		rapidInBubble(t, rt, func(t testing.TB) {
			r := newRig(t, rpcrdma.Config{LimitBackwardCalls: true})
			p, b := r.connected(asks)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			for _, s := range steps {
				switch {
				case s < 5:
					b.make(ctx, 1+s)
				case s < 6:
					p.call()
				case s < 13:
					p.handle()
				default:
					p.answer(s)
				}
				synctest.Wait()
			}
			for range 10 + b.made { // each reply lets at least one call go
				p.settle()
				p.call()
			}
			p.settle()
			b.check(b.made, 0)
		})
	})
}
