package transporttest

import (
	"net"
	"runtime"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

var goexitTests = []pairTest{
	{"goexit/in Received", Options{}, goexitReceived},
	{"goexit/in Complete", Options{}, goexitComplete},
	{"goexit/in a flush", Options{}, goexitFlush},
	{"goexit/in Receive", Options{}, goexitReceive},
	{"goexit/in Poll", Options{}, goexitPoll},
}

// wantGone checks that the connection ends because an upper layer, that of e, has ended a goroutine
// of the provider. Connections made before and after it are served.
func (p *pair) wantGone(e *end, other *pair) {
	p.t.Helper()
	p.replaced = true // goroutines that serve all connections
	p.a.ended()
	p.b.ended()
	wantError(p.t, e.name+": Err", e.Err(), transport.ErrGoexit)
	_, err := e.ledger.post(e, with(transport.Signaled, send(e.alloc(8))))
	wantError(p.t, e.name+": Post after the end", err, net.ErrClosed)
	other.alive()
	p.connect().start().alive()
}

// Messages and requests are under way. Requests complete once, whichever way, as always.
func goexitReceived(p *pair) {
	other := p.connect().start()
	for _, e := range []*end{p.a, p.b} {
		e.receives(4, 8)
	}
	p.b.inbox.hook = func(message) {
		_, _ = p.b.ledger.post(p.b, with(transport.Signaled, send(p.b.alloc(8))))
		runtime.Goexit()
	}
	p.a.inbox.hook = func(message) {}
	window := p.b.expose(rw, p.b.alloc(1000))
	p.start()
	s := p.a.alloc(8)
	p.a.post(with(transport.Signaled, send(s)), send(s),
		with(transport.Signaled, read(window, 0, p.a.alloc(8))), with(transport.Signaled, send(s)))
	p.wantGone(p.b, other)
}

// Of many requests, the first one completes in a Completer that does not return.
func goexitComplete(p *pair) {
	other := p.connect().start()
	window := p.b.expose(rw, p.b.alloc(8))
	p.start()
	s := p.a.alloc(8)
	first := with(transport.Signaled, write(window, 0, s))
	first.Done = completer(func(*transport.WorkRequest, error) { runtime.Goexit() })
	if err := p.a.Post(first); err != nil {
		p.t.Fatalf("Post: %v", err)
	}
	for range 10 {
		// The connection may end in between.
		_, _ = p.a.ledger.post(p.a, write(window, 0, s), with(transport.Signaled, write(window, 0, s)))
	}
	p.wantGone(p.a, other)
}

// No Completer returns, when the connection has ended already.
func goexitFlush(p *pair) {
	other := p.connect().start()
	p.start()
	dead := p.b.expose(rw, p.b.alloc(8))
	p.b.Revoke(dead)
	var calls sync.WaitGroup
	s := p.a.alloc(8)
	for range 5 {
		calls.Add(1)
		wr := with(transport.Signaled, write(dead, 0, s))
		wr.Done = completer(func(*transport.WorkRequest, error) {
			calls.Done()
			runtime.Goexit()
		})
		if err := p.a.Post(wr); err != nil {
			calls.Done()
		}
	}
	p.a.ended()
	p.b.ended()
	waitAll(p.t, "completions", &calls)
	p.replaced = true
	other.alive()
}

// gone is a RecvSource that does not return.
type gone struct{}

func (gone) Receive() *transport.RecvRequest {
	runtime.Goexit()
	return nil
}

func (gone) Ready() bool { return true }

func goexitReceive(p *pair) {
	r, ok := transport.As[transport.SharedReceiver](p.b.Endpoint)
	if !ok {
		p.t.Skip("the provider cannot share receives")
	}
	other := p.connect().start()
	p.b.source.by = gone{}
	if err := r.PromiseRecv(4); err != nil {
		p.t.Fatalf("PromiseRecv: %v", err)
	}
	p.start()
	s := p.a.alloc(8)
	p.a.post(with(transport.Signaled, send(s)), with(transport.Signaled, send(s)))
	p.wantGone(p.b, other)
}

// Poll may call the upper layer on its caller's goroutine, which then ends.
func goexitPoll(p *pair) {
	poller, ok := transport.As[transport.Poller](p.a.Endpoint)
	if !ok {
		p.t.Skip("the provider cannot poll")
	}
	other := p.connect().start()
	window := p.b.expose(rw, p.b.alloc(8))
	p.start()
	wr := with(transport.Signaled, write(window, 0, p.a.alloc(8)))
	wr.Done = completer(func(*transport.WorkRequest, error) { runtime.Goexit() })
	if err := poller.PostPolled(wr); err != nil {
		p.t.Fatalf("PostPolled: %v", err)
	}
	polled := make(chan struct{})
	go func() {
		defer close(polled)
		poller.Poll()
	}()
	wait(p.t, "Poll", polled)
	p.wantGone(p.a, other)
}
