package rpcrdma

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// testReceiveSize is the size in bytes of receives in these tests: one that no other memory has.
const testReceiveSize = 5120

// awaited is the number of messages that the peer can still send, and those that have come and were not looked at; c.mu is held.
func (c *Conn) awaited() int {
	if c.supply.shared == nil {
		return len(c.posted)
	}
	return c.supply.promised + len(c.posted)
}

// allocMeter is a Domain that notes the most that was ever allocated, of receives of one size and in all.
type allocMeter struct {
	transport.Domain
	receive int

	mu                 sync.Mutex // guards what follows
	bytes, most        int
	receives, mostRecv int
}

func (m *allocMeter) Alloc(n int) (transport.Slice, error) {
	s, err := m.Domain.Alloc(n)
	m.count(n, err == nil)
	return s, err
}

func (m *allocMeter) count(n int, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !ok {
		return
	}
	m.bytes += n
	m.most = max(m.most, m.bytes)
	if n == m.receive || -n == m.receive {
		m.receives += n / m.receive
		m.mostRecv = max(m.mostRecv, m.receives)
	}
}

func (m *allocMeter) Free(s transport.Slice) {
	m.Domain.Free(s)
	m.count(-len(s.Bytes), true)
}

func (m *allocMeter) Import(p []byte) (transport.Slice, error) { return transport.Slice{Bytes: p}, nil }
func (m *allocMeter) Release(transport.Slice)                  {}

// metered has the connections that a listener accepts take memory of an allocMeter.
type metered struct {
	transport.Listener
	meter *allocMeter
}

func (l metered) Accept(ctx context.Context) (transport.Request, error) {
	r, err := l.Listener.Accept(ctx)
	return meteredRequest{r, l.meter}, err
}

type meteredRequest struct {
	transport.Request
	meter *allocMeter
}

func (r meteredRequest) Accept(ctx context.Context, private []byte) (transport.Endpoint, error) {
	ep, err := r.Request.Accept(ctx, private)
	if err != nil {
		return nil, err
	}
	return meteredEndpoint{ep, ep.(transport.SharedReceiver), ep.(transport.Abandoner), r.meter}, nil
}

type meteredEndpoint struct {
	transport.Endpoint
	transport.SharedReceiver
	transport.Abandoner
	meter *allocMeter
}

func (e meteredEndpoint) Domain() transport.Domain { return e.meter }

// crowd is a server with little memory for receives, and its clients.
type crowd struct {
	server  *oncrpc.Server
	program *program
	meter   *allocMeter
	clients []*Conn
	dial    func(t testing.TB, n int) // makes more of them
}

// providers are what the tests below run on.
var providers = map[string]func(t testing.TB) (transport.Listener, transport.Dialer){
	"loopback": func(t testing.TB) (transport.Listener, transport.Dialer) {
		f := loopback.New()
		l, err := f.Listen(rigAddr, loopback.Config{})
		if err != nil {
			t.Fatal(err)
		}
		return l, f.Dialer(loopback.Config{})
	},
	"iwarp": func(t testing.TB) (transport.Listener, transport.Dialer) {
		l, err := iwarp.Listen(t.Context(), "127.0.0.1:0", iwarp.Config{Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		return l, iwarp.Dialer{Config: iwarp.Config{Logger: quiet}}
	},
}

// newCrowd makes a server and n clients of it, which stay until the end of the test.
func newCrowd(t testing.TB, provider string, n int, cfg Config) *crowd {
	t.Helper()
	cfg.Logger, cfg.InlineRecv = quiet, testReceiveSize
	l, d := providers[provider](t)
	cr := &crowd{
		server:  oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet}),
		program: newProgram(),
		meter:   &allocMeter{Domain: new(loopback.Domain), receive: testReceiveSize},
	}
	cr.server.Handle(cr.program.program())
	served := make(chan error, 1)
	go func() { served <- Serve(context.Background(), metered{l, cr.meter}, cr.server, cfg) }()
	t.Cleanup(func() {
		for _, c := range cr.clients {
			c.Close()
		}
		cr.server.Close()
		if err := wait(t, served); !errors.Is(err, oncrpc.ErrServerClosed) {
			t.Errorf("Serve: %v", err)
		}
		if n, size := cr.meter.Domain.(*loopback.Domain).Allocated(); n != 0 {
			t.Errorf("%d pieces of memory leaked, %d bytes", n, size)
		}
	})
	cr.dial = func(t testing.TB, n int) {
		t.Helper()
		for range n {
			c, err := Dial(context.Background(), d, l.Addr().String(), Config{Logger: quiet})
			if err != nil {
				t.Fatal(err)
			}
			cr.clients = append(cr.clients, c)
		}
	}
	cr.dial(t, n)
	return cr
}

// TestIdleHoldsNothing has many connections make calls, as many at a time as they may, and then none: all memory is in the pool
// again, whatever their peers may send.
func TestIdleHoldsNothing(t *testing.T) {
	for provider := range providers {
		t.Run(provider, func(t *testing.T) {
			const conns, calls = 50, 32
			cr := newCrowd(t, provider, conns, Config{Credits: calls})
			if cr.meter.bytes != 0 {
				t.Errorf("%d bytes allocated for connections that have not been used", cr.meter.bytes)
			}
			for _, c := range cr.clients {
				together(t, c, calls)
				var conn *Conn
				for range calls + 1 {
					conn = wait(t, cr.program.conns)
				}
				waitFor(t, func() bool { // replies may not have let go of theirs
					conn.mu.Lock()
					defer conn.mu.Unlock()
					return conn.supply.held == 0 && conn.supply.reserved == 0 && len(conn.posted) == 0
				})
				conn.mu.Lock()
				if conn.supply.promised != calls {
					t.Errorf("the peer of an idle connection may send %d messages, want %d", conn.supply.promised, calls)
				}
				conn.mu.Unlock()
			}
			// Never more than one of them needs: one for each credit, and for replies that leave as long as the next grant is there.
			if most := 2 * calls; cr.meter.mostRecv > most {
				t.Errorf("%d receives with memory at a time, %d are enough", cr.meter.mostRecv, most)
			}
		})
	}
}

// together makes n calls at a time that do nothing, with one ahead of them that brings the credits for that.
func together(t testing.TB, c *Conn, n int) {
	t.Helper()
	call := func() {
		if err := client(c).Call(t.Context(), procNull, nil, nil); err != nil {
			t.Error(err)
		}
	}
	call()
	var wg sync.WaitGroup
	for range n {
		wg.Go(call)
	}
	wg.Wait()
}

// block makes a call that ends when the program's gate says so, or the other way.
func block(t testing.TB, c *Conn) chan error {
	err := make(chan error, 1)
	go func() { err <- client(c).Call(t.Context(), procBlock, &items{}, &items{}) }()
	return err
}

// TestGrantsGoDown has connections keep calls under way, one after the other. The more memory they have, the less is granted to those that come;
// the last can call, too; and when the calls have ended the first grants come again.
func TestGrantsGoDown(t *testing.T) {
	for provider := range providers {
		t.Run(provider, func(t *testing.T) {
			const conns, credits = 16, 32
			cr := newCrowd(t, provider, conns, Config{Credits: credits, ReceiveMemory: 4 * credits * testReceiveSize})
			var grants []int
			var blocked []chan error
			for _, c := range cr.clients {
				together(t, c, 1)
				grant, _, _ := c.Credits()
				grants = append(grants, grant)
				blocked = append(blocked, block(t, c))
				wait(t, cr.program.entered)
			}
			if grants[0] != credits {
				t.Errorf("granted %d at first, want %d", grants[0], credits)
			}
			if last := grants[conns-1]; last < 1 || last > 4 {
				t.Errorf("granted %d in the end, of %v, want very few", last, grants)
			}
			for _, s := range blocked {
				cr.program.pass(t)
				if err := wait(t, s); err != nil {
					t.Error(err)
				}
			}
			c := cr.clients[conns-1]
			waitFor(t, func() bool { // replies may not have let go of their memory yet
				together(t, c, 1)
				grant, _, _ := c.Credits()
				return grant == credits
			})
			if most := 4*credits + (freeReceives+1)*conns; cr.meter.mostRecv > most {
				t.Errorf("%d receives with memory, want no more than %d", cr.meter.mostRecv, most)
			}
		})
	}
}

// TestReceivesExhausted has many more connections call than there is memory for, all at a time, and with everything that a call can be: short, with bulk data to
// fetch, which is behind messages of the same connection, and long. All calls are answered, no connection ends, and the memory stays within its bounds.
func TestReceivesExhausted(t *testing.T) {
	for provider := range providers {
		for _, receives := range []int64{0, 40} { // 0: not even one
			t.Run(fmt.Sprintf("%s/%d", provider, receives), func(t *testing.T) {
				const conns, credits, callers, calls = 12, 16, 12, 6
				seed := rand.Uint64()
				t.Logf("seed %#x", seed)
				const chunkMemory = 2 * MaxInline
				cr := newCrowd(t, provider, conns, Config{
					Credits: credits, ReceiveMemory: max(1, receives*testReceiveSize),
					MaxMessage: MaxInline, ConnMemory: chunkMemory, ServerMemory: chunkMemory,
				})
				for _, c := range cr.clients {
					together(t, c, 1) // so that they may make many calls at once
				}
				var wg sync.WaitGroup
				var failed atomic.Int32
				for i, c := range cr.clients {
					for j := range callers {
						wg.Go(func() {
							r := rand.New(rand.NewPCG(seed, uint64(i*callers+j)))
							for range calls {
								if err := exchange(t.Context(), c, r); err != nil && failed.Add(1) == 1 {
									t.Error(err)
								}
							}
						})
					}
				}
				wg.Wait()
				held := uint64(0)
				for _, c := range cr.clients {
					if err := c.Err(); err != nil {
						t.Error(err)
					}
				}
				for range conns {
					held += wait(t, cr.program.conns).Stats().HeldUp
					wait(t, cr.program.conns)
				}
				t.Logf("held up %d times, %d receives with memory at most", held, cr.meter.mostRecv)
				// One connection may have what it needs though it is more than there is; each has a few in any case, and one more while the
				// reply has left that allowed the next call, and is not noted to have.
				most := max(int(receives), credits) + (freeReceives+1)*conns
				if cr.meter.mostRecv > most {
					t.Errorf("%d receives with memory at a time, want no more than %d", cr.meter.mostRecv, most)
				}
			})
		}
	}
}

// exchange makes a call with data of some size, and checks what comes back.
func exchange(ctx context.Context, c *Conn, r *rand.Rand) error {
	sizes := []int{0, 100, 3000, 5000, 20_000, 40_000}
	a := &items{}
	for range r.IntN(3) {
		a.data = append(a.data, pattern(r.Uint64(), sizes[r.IntN(len(sizes)-len(a.data))]))
	}
	reply := &items{}
	req := &oncrpc.Request{Procedure: procEcho, Args: a, Reply: reply, MaxReply: MaxInline}
	if err := client(c).Do(ctx, req); err != nil {
		return err
	}
	if diff := cmp.Diff(len(a.data), len(reply.data)); diff != "" {
		return fmt.Errorf("reply differs (-want +got):\n%s", diff)
	}
	for i := range a.data {
		if string(a.data[i]) != string(reply.data[i]) {
			return fmt.Errorf("item %d of %d bytes differs", i, len(a.data[i]))
		}
	}
	return nil
}

// TestHeldUp has connections with calls under way have all of the memory. The message of another waits, and is not lost; neither is its connection.
func TestHeldUp(t *testing.T) {
	for provider := range providers {
		t.Run(provider, func(t *testing.T) {
			const credits = 8
			// Two connections that make a call, and may make 7 more, and the one behind that, have all but what is free for each.
			cr := newCrowd(t, provider, 3, Config{Credits: credits, ReceiveMemory: 2 * (credits + 1 - freeReceives) * testReceiveSize})
			conns := make([]*Conn, 3)
			for i, c := range cr.clients {
				together(t, c, 1)
				for range 2 {
					conns[i] = wait(t, cr.program.conns)
				}
				for grant, _, _ := c.Credits(); grant < credits; grant, _, _ = c.Credits() {
					together(t, c, 0)
					wait(t, cr.program.conns)
				}
				waitFor(t, func() bool {
					conns[i].mu.Lock()
					defer conns[i].mu.Unlock()
					return !conns[i].busy()
				})
			}
			var calls []chan error
			for i := range 2 {
				calls = append(calls, block(t, cr.clients[i]))
				wait(t, cr.program.entered)
			}
			calls = append(calls, block(t, cr.clients[2]))
			waitFor(t, func() bool { return conns[2].Stats().HeldUp > 0 })
			select {
			case <-cr.program.entered:
				t.Fatal("a call has begun for which there was no memory")
			case err := <-calls[2]:
				t.Fatalf("a call has ended for which there was no memory: %v", err)
			default:
			}
			for range calls {
				cr.program.pass(t)
			}
			for _, call := range calls {
				if err := wait(t, call); err != nil {
					t.Error(err)
				}
			}
			if n := conns[0].Stats().HeldUp + conns[1].Stats().HeldUp; n != 0 {
				t.Errorf("the others were held up %d times", n)
			}
		})
	}
}

// pass has a call of procBlock go on.
func (p *program) pass(t testing.TB) {
	t.Helper()
	select {
	case p.gate <- struct{}{}:
	case <-time.After(patience):
		t.Fatal("no call waits for the gate")
	}
}

// TestEndedHoldsLittle: a connection that has ended, and whose handler goes on, keeps no more than the message that it has.
func TestEndedHoldsLittle(t *testing.T) {
	cr := newCrowd(t, "loopback", 1, Config{Credits: 8})
	entered, release := make(chan struct{}), make(chan struct{})
	cr.server.Handle(oncrpc.Program{Number: testProgram, Version: 3, Procedures: []oncrpc.Procedure{
		1: {Name: "STUBBORN", Handler: func(context.Context, *oncrpc.Call) error {
			close(entered)
			<-release
			return nil
		}},
	}})
	together(t, cr.clients[0], 8)
	var conn *Conn
	for range 8 {
		conn = wait(t, cr.program.conns)
	}
	go func() {
		_ = oncrpc.NewClient(cr.clients[0], testProgram, 3, oncrpc.AuthNone()).Call(t.Context(), 1, nil, nil)
	}()
	wait(t, entered)
	b := conn.supply.budget
	if used := b.size - b.free.Load(); used <= testReceiveSize {
		t.Errorf("%d bytes are reserved for a busy connection", used)
	}
	cr.clients[0].Close()
	<-conn.Done()
	if used := b.size - b.free.Load(); used != testReceiveSize {
		t.Errorf("%d bytes are reserved for a connection that has ended, want %d", used, testReceiveSize)
	}
	close(release)
	waitFor(t, func() bool { return b.free.Load() == b.size })
}

// TestOverloadBounded has many connections send large calls, as many as they may. What the server has allocated at a time stays within its configuration:
// chunks within ServerMemory, messages within ReceiveMemory and the few of each connection, and a Send for each call.
func TestOverloadBounded(t *testing.T) {
	for provider := range providers {
		t.Run(provider, func(t *testing.T) {
			const (
				conns, callers, calls = 16, 16, 2
				item, class           = 60_000, 1 << 16 // what it takes of the pool
				chunkMemory           = 5 * 2 * MaxInline
				receives              = 32
			)
			cr := newCrowd(t, provider, conns, Config{
				Credits: callers, ReceiveMemory: receives * testReceiveSize,
				MaxMessage: MaxInline, ConnMemory: chunkMemory, ServerMemory: chunkMemory,
			})
			data := pattern(1, item)
			var wg sync.WaitGroup
			for _, c := range cr.clients {
				together(t, c, 1)
				for range callers {
					wg.Go(func() {
						for range calls {
							// The second item is fetched to memory of the server's.
							if err := client(c).Call(t.Context(), procSink, &items{data: [][]byte{{1}, data}}, nil); err != nil {
								t.Error(err)
								return
							}
						}
					})
				}
			}
			for range conns * callers * calls {
				if a := wait(t, cr.program.calls); len(a.data) != 2 || string(a.data[1]) != string(data) {
					t.Error("the data differs")
				}
			}
			wg.Wait()
			messages := receives + (freeReceives+1)*conns
			most := chunkMemory/item*class + messages*(testReceiveSize+1<<minClass)
			if cr.meter.most > most {
				t.Errorf("%d bytes allocated at a time, want no more than %d", cr.meter.most, most)
			}
			t.Logf("%d bytes of %d", cr.meter.most, most)
		})
	}
}
