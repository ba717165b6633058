package rpcrdma

import (
	"bytes"
	"sync"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// TestNothingWithheldAfterEnd has a handler reply when its connection has ended, with RDMA_DONEs owed that do not come any more.
func TestNothingWithheldAfterEnd(t *testing.T) {
	cfg := Config{Dialect: Draft, MaxMessage: 65536, ConnMemory: 131072, ServerMemory: 131072, Credits: 16}.withDefaults()
	b := newBudget(cfg.ServerMemory)
	c := &Conn{cfg: cfg, rules: dialects[Draft], budget: b, memory: connBudget{free: cfg.ConnMemory}}
	for range cfg.Credits {
		if !b.pin(&incoming{serving: serving{c: c, pinned: 1}}) {
			t.Fatal("withheld without a reason")
		}
	}
	late := &incoming{serving: serving{c: c, pinned: 1}}
	if b.pin(late) {
		t.Fatal("more RDMA_DONEs owed than there are credits")
	}
	if gone := b.remove(c); len(gone) != 1 || gone[0] != late {
		t.Errorf("%d replies given up at the end, want the one that was withheld", len(gone))
	}
	if !b.pin(&incoming{serving: serving{c: c, pinned: 1 << 30}}) {
		t.Error("a reply is withheld that nothing would ever send")
	}
}

// orderEndpoint notes when receives are posted and when requests are.
type orderEndpoint struct {
	*fakeEndpoint
	mu    sync.Mutex
	order []byte // 'g' for a grant, whose receives are posted then; 's' for the reply with it
}

func (e *orderEndpoint) note(what byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.order = append(e.order, what)
}

func (e *orderEndpoint) PostRecv(...*transport.Receive) error {
	e.note('g')
	return nil
}

func (e *orderEndpoint) Post(wrs ...*transport.WorkRequest) error {
	e.note('s')
	return e.fakeEndpoint.Post(wrs...)
}

// TestRepliesInOrderOfGrants has goroutines answer calls at once. Each reply leaves ahead of the next one's grant: a client goes by the grant that
// comes last, and so must the server.
func TestRepliesInOrderOfGrants(t *testing.T) {
	domain := new(loopback.Domain)
	p := newPool(domain)
	cfg := Config{Logger: quiet, Credits: 4}.withDefaults()
	ep := &orderEndpoint{fakeEndpoint: newFakeEndpoint(1024, domain)}
	c := newConn(ep, cfg, p, newBudget(cfg.ServerMemory), nil)
	c.settings.Store(&Settings{MaxReplySend: MaxInline})
	answer := func(n int) *incoming {
		in := getIncoming(c, oncrpc.DispatcherOf(oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet})))
		in.header = Header{Version: ProtocolVersion, Credits: 4}
		in.reply = xdr.Message{Inline: make([]byte, n)}
		c.mu.Lock()
		c.granter.Received()
		c.mu.Unlock()
		return in
	}
	c.granter.Start()
	in := answer(4)
	in.Reply(in.reply) // opens the window
	ep.order = nil
	const rounds = 500
	for range rounds {
		var wg sync.WaitGroup
		for _, in := range []*incoming{answer(60_000), answer(60_000)} {
			wg.Go(func() { in.Reply(in.reply) })
		}
		wg.Wait()
		for ep.run() {
		}
	}
	if want := bytes.Repeat([]byte("gs"), 2*rounds); !bytes.Equal(ep.order, want) {
		t.Errorf("replies left in another order than their grants were made, %d times", bytes.Count(ep.order, []byte("gg")))
	}
	ep.end()()
}
