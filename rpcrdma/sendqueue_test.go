package rpcrdma

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// These tests are inside the package for the queue before a full endpoint, with chains that no call
// makes and completions one by one.

// sendLog completes requests, whose Context is their number, and informs the queue as completers
// do.
type sendLog struct {
	q *sendQueue

	mu   sync.Mutex // guards what follows
	done []int
	errs map[int]error
}

func (l *sendLog) Complete(wr *transport.WorkRequest, err error) {
	l.mu.Lock()
	n := wr.Context.(int)
	if _, twice := l.errs[n]; twice {
		panic(fmt.Sprintf("request %d completes twice", n))
	}
	l.done = append(l.done, n)
	l.errs[n] = err
	l.mu.Unlock()
	l.q.completed()
}

func (l *sendLog) completed() []int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.done)
}

// newQueue returns a queue for an endpoint, and a function that makes chains of n numbered
// requests. The last one of each chain is signaled.
func newQueue(depth int) (*sendQueue, *fakeEndpoint, *sendLog, func(n int) []*transport.WorkRequest) {
	ep := newFakeEndpoint(depth, nil)
	q := &sendQueue{ep: ep}
	log := &sendLog{q: q, errs: make(map[int]error)}
	next := 0
	return q, ep, log, func(n int) (chain []*transport.WorkRequest) {
		for range n {
			chain = append(chain, &transport.WorkRequest{Op: transport.OpWrite, Done: log, Context: next})
			next++
		}
		last := chain[n-1]
		last.Op, last.Flags = transport.OpSend, transport.Signaled
		return chain
	}
}

func numbers(wrs []*transport.WorkRequest) (n []int) {
	for _, wr := range wrs {
		n = append(n, wr.Context.(int))
	}
	return n
}

func upTo(n int) (all []int) {
	for i := range n {
		all = append(all, i)
	}
	return all
}

func TestSendQueueRoom(t *testing.T) {
	q, ep, log, chain := newQueue(8)
	for _, n := range []int{3, 4, 1} {
		if err := q.post(chain(n)); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(upTo(8), numbers(ep.posted())); diff != "" {
		t.Errorf("posted (-want +got):\n%s", diff)
	}
	for ep.run() {
	}
	// Nothing waited, so only what must complete does.
	if diff := cmp.Diff([]int{2, 6, 7}, log.completed()); diff != "" {
		t.Errorf("completed (-want +got):\n%s", diff)
	}
}

func TestSendQueueFull(t *testing.T) {
	q, ep, _, chain := newQueue(4)
	for _, n := range []int{3, 2, 1, 3} {
		if err := q.post(chain(n)); err != nil {
			t.Fatal(err)
		}
	}
	// Only part of the second is posted. The third would fit, but is behind it.
	if diff := cmp.Diff(upTo(4), numbers(ep.posted())); diff != "" {
		t.Errorf("posted (-want +got):\n%s", diff)
	}
	for range 3 {
		ep.run() // the third completes and makes room for three
	}
	if diff := cmp.Diff(upTo(7), numbers(ep.posted())); diff != "" {
		t.Errorf("posted when there is room (-want +got):\n%s", diff)
	}
	for ep.run() {
	}
	if diff := cmp.Diff(upTo(9), numbers(ep.posted())); diff != "" {
		t.Errorf("posted in the end (-want +got):\n%s", diff)
	}
	if n := q.queued.Load(); n != 0 {
		t.Errorf("%d queued in the end", n)
	}
}

// A chain that the endpoint's queue never holds makes room for its rest, however small that is.
func TestSendQueueLongChain(t *testing.T) {
	for _, depth := range []int{1, 2, 15, 16, 17} {
		t.Run(fmt.Sprint(depth), func(t *testing.T) {
			q, ep, log, chain := newQueue(depth)
			if err := q.post(chain(100)); err != nil {
				t.Fatal(err)
			}
			for ep.run() {
			}
			if diff := cmp.Diff(upTo(100), numbers(ep.posted())); diff != "" {
				t.Errorf("posted (-want +got):\n%s", diff)
			}
			if done := log.completed(); len(done) == 0 || done[len(done)-1] != 99 {
				t.Errorf("completed %v", done)
			}
		})
	}
}

// A completion that comes right after the endpoint was found full, and is the last, must find
// that something waits.
func TestSendQueueLastCompletion(t *testing.T) {
	q, ep, _, chain := newQueue(2)
	var queued int32
	ep.full = func() { queued = q.queued.Load() }
	q.post(chain(2))
	q.post(chain(1))
	if queued == 0 {
		t.Error("nothing is known to wait when the endpoint is found full")
	}
	for ep.run() {
	}
	if n := len(ep.posted()); n != 3 {
		t.Errorf("%d posted, want 3", n)
	}
}

func TestSendQueueEnd(t *testing.T) {
	q, ep, log, chain := newQueue(4)
	q.post(chain(3))
	q.post(chain(3)) // 3 is posted; 4 and 5 wait
	flush := ep.end()
	if err := q.post(chain(2)); err != nil { // 6 and 7 wait after them
		t.Fatal(err)
	}
	q.completed() // more room no longer matters
	if done := log.completed(); len(done) > 0 {
		t.Errorf("%v completed before the endpoint was done", done)
	}
	flush()
	if diff := cmp.Diff(upTo(4), log.completed()); diff != "" {
		t.Errorf("completed by the endpoint (-want +got):\n%s", diff)
	}
	q.close()
	if diff := cmp.Diff(upTo(8), log.completed()); diff != "" {
		t.Errorf("completed (-want +got):\n%s", diff)
	}
	for n, err := range log.errs {
		if !errors.Is(err, transport.ErrFlushed) {
			t.Errorf("request %d: error %v, want ErrFlushed", n, err)
		}
	}
	if err := q.post(chain(2)); !errors.Is(err, net.ErrClosed) {
		t.Errorf("posted after the end: error %v, want net.ErrClosed", err)
	}
	q.close()
	if n := len(log.completed()); n != 8 {
		t.Errorf("%d completed, want 8", n)
	}
}

// Whatever the chains and the depth, all is posted in order, and the last of each chain completes.
func TestSendQueueProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q, ep, log, chain := newQueue(rapid.IntRange(1, 12).Draw(t, "depth"))
		total := 0
		var ends []int
		for _, n := range rapid.SliceOfN(rapid.IntRange(-5, 30), 0, 20).Draw(t, "chains, and requests run") {
			if n <= 0 {
				for range -n {
					ep.run()
				}
				continue
			}
			if err := q.post(chain(n)); err != nil {
				t.Fatal(err)
			}
			total += n
			ends = append(ends, total-1)
		}
		for ep.run() {
		}
		if diff := cmp.Diff(upTo(total), numbers(ep.posted())); diff != "" {
			t.Fatalf("posted (-want +got):\n%s", diff)
		}
		done := log.completed()
		if !slices.IsSorted(done) {
			t.Fatalf("completed out of order: %v", done)
		}
		for _, n := range ends {
			if !slices.Contains(done, n) {
				t.Fatalf("request %d, the last of its chain, did not complete", n)
			}
		}
	})
}

// Many post while the endpoint works and, one time of two, ends in between.
func TestSendQueueConcurrent(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for round := range 20 {
		q, ep, log, chain := newQueue(8)
		var mu sync.Mutex // guards what follows
		accepted, refused := map[int]bool{}, map[int]bool{}
		var posters, worker sync.WaitGroup
		for id := range 4 {
			posters.Go(func() {
				r := rand.New(rand.NewPCG(seed, uint64(id)))
				for range 50 {
					mu.Lock()
					c := chain(1 + r.IntN(12))
					mu.Unlock()
					nums := numbers(c)
					err := q.post(c)
					mu.Lock()
					for _, n := range nums {
						if err != nil {
							refused[n] = true
						} else {
							accepted[n] = n == nums[len(nums)-1]
						}
					}
					mu.Unlock()
				}
			})
		}
		stop := make(chan struct{})
		worker.Go(func() {
			for i := 0; ; i++ {
				if round%2 == 1 && i == 500 {
					ep.end()()
					return
				}
				if ep.run() {
					continue
				}
				select {
				case <-stop:
					for ep.run() {
					}
					return
				default:
				}
			}
		})
		hang.Wait(t, "those that post", &posters)
		close(stop)
		hang.Wait(t, "the worker", &worker)
		q.close()
		for n, last := range accepted {
			if _, ok := log.errs[n]; last && !ok {
				t.Errorf("request %d, the last of its chain, did not complete", n)
			}
		}
		for n := range refused {
			if _, ok := log.errs[n]; ok {
				t.Errorf("request %d completed, but its post had failed", n)
			}
		}
		if n := q.queued.Load(); n != 0 || len(q.waiting) != 0 {
			t.Errorf("%d queued in the end", n)
		}
	}
}

// orderEndpoint notes when receives are posted and when requests are.
type orderEndpoint struct {
	*fakeEndpoint
	mu    sync.Mutex
	order []byte // 'g' for a grant, whose receives are then posted; 's' for its reply
}

func (e *orderEndpoint) note(what byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.order = append(e.order, what)
}

func (e *orderEndpoint) PostRecv(...*transport.RecvRequest) error {
	e.note('g')
	return nil
}

func (e *orderEndpoint) Post(wrs ...*transport.WorkRequest) error {
	e.note('s')
	return e.fakeEndpoint.Post(wrs...)
}

// TestRepliesInOrderOfGrants: goroutines answer calls at the same time. Replies leave in the order
// of their grants, because a client uses the last grant that comes.
func TestRepliesInOrderOfGrants(t *testing.T) {
	domain := new(loopback.Domain)
	p := newPool(domain)
	cfg, err := Config{Logger: quiet, Credits: 4}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	ep := &orderEndpoint{fakeEndpoint: newFakeEndpoint(1024, domain)}
	c, err := newConn(ep, &cfg, &memory{pool: p, chunks: newBudget(cfg.ServerMemory)})
	if err != nil {
		t.Fatal(err)
	}
	c.connected()
	c.settings.Store(&Settings{MaxReplySend: MaxInline})
	answer := func(n int) *incoming {
		in := getIncoming(c, oncrpc.DispatcherOf(oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet})))
		in.header = &Header{Version: ProtocolVersion, Credits: 4}
		in.reply.message = xdr.Message{Inline: make([]byte, n)}
		c.mu.Lock()
		c.flow.granter.CallReceived()
		c.mu.Unlock()
		return in
	}
	c.flow.granter.Start()
	in := answer(4)
	in.Reply(in.reply.message) // opens the window
	ep.order = nil
	const rounds = 500
	for range rounds {
		var wg sync.WaitGroup
		for _, in := range []*incoming{answer(60_000), answer(60_000)} {
			wg.Go(func() { in.Reply(in.reply.message) })
		}
		hang.Wait(t, "those that reply", &wg)
		for ep.run() {
		}
	}
	if want := bytes.Repeat([]byte("gs"), 2*rounds); !bytes.Equal(ep.order, want) {
		t.Errorf("replies left in another order than their grants were made, %d times", bytes.Count(ep.order, []byte("gg")))
	}
	ep.end()()
}
