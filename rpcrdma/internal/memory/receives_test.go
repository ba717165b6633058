package memory

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/rpcrdma/go-rpcrdma/internal/budget"
	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// These tests are inside the package for the account of memory, to the byte after each step. What
// clients see of it is tested from outside (supply_test.go, shares_test.go).

const (
	testSize  = 96 // bytes of the longest message
	testAlign = 32
	testFree  = 2
	testBytes = testSize + testAlign - 1 // memory of a receive
)

// fakeEndpoint is a provider that may be able to hold messages back.
type fakeEndpoint struct {
	transport.Endpoint
	canHold bool
	full    error // why it takes no receives
	source  transport.RecvSource
	queue   []*Receive // receives that no message has begun to use
	resumed bool
}

func (e *fakeEndpoint) Info() transport.Info {
	return transport.Info{CanHold: e.canHold}
}

func (e *fakeEndpoint) ShareRecv(src transport.RecvSource) { e.source = src }
func (e *fakeEndpoint) PromiseRecv(int) error              { return e.full }
func (e *fakeEndpoint) ResumeRecv()                        { e.resumed = true }

func (e *fakeEndpoint) PostRecv(rs ...*transport.RecvRequest) error {
	if e.full != nil {
		return e.full
	}
	for _, r := range rs {
		e.queue = append(e.queue, r.Context.(*Receive))
	}
	return nil
}

// receivesConn is a connection with its peer and provider played by hand. It counts for itself what
// its Receives has to know.
type receivesConn struct {
	Receives
	ep      *fakeEndpoint
	mu      sync.Mutex
	grants  int        // receives that no message has begun to use
	begun   []*Receive // of messages that have not arrived
	arrived []*Receive // of messages in hand
	calls   int        // of this side that await their reply
	waits   bool       // a message is held up
	refused int        // how often HeldUp was called
	failed  chan error
}

// receivesRig has connections that share a budget and a pool.
type receivesRig struct {
	domain loopback.Domain
	pool   *Pool
	budget *Budget
	conns  []*receivesConn // those that have ended, too
}

func newReceivesRig(size int64) *receivesRig {
	r := &receivesRig{budget: budget.New[Receives](size)}
	r.pool = NewPool(&r.domain)
	return r
}

// open opens a connection of a host.
func (r *receivesRig) open(host string, canHold bool) (*receivesConn, error) {
	c := &receivesConn{ep: &fakeEndpoint{canHold: canHold}, failed: make(chan error, 1)}
	err := c.Open(ReceivesConfig{
		Mutex: &c.mu, Endpoint: c.ep, Pool: r.pool, Budget: r.budget,
		Host: peerhost.Of(loopback.Addr(host + ":1")), Size: testSize, Align: testAlign,
		Free: testFree, Fail: func(err error) { c.failed <- err }, HeldUp: func() { c.refused++ },
	})
	if err == nil {
		r.conns = append(r.conns, c)
	}
	return c, err
}

func (c *receivesConn) post(t rapid.TB, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if got, err := c.Post(n); got != n || err != nil {
		t.Fatalf("posted %d of %d: %v", got, n, err)
	}
	c.grants += n
}

// begin has a message begin to arrive, or come again that was held up. Providers may ask for its
// memory when none has come.
func (c *receivesConn) begin(t rapid.TB) {
	c.ep.resumed = false
	var r *Receive
	if c.ep.canHold {
		before := c.refused
		m := c.ep.source.Receive()
		c.waits = m == nil
		if held := c.refused > before; held != c.waits {
			t.Fatalf("a message is held up: %v, noted as such: %v", c.waits, held)
		}
		if c.waits {
			return
		}
		if r = m.Context.(*Receive); r.Size() < c.Longest() {
			t.Fatalf("a receive of %d bytes, want %d", r.Size(), c.Longest())
		}
	} else {
		r, c.ep.queue = c.ep.queue[0], c.ep.queue[1:]
	}
	c.grants--
	c.begun = append(c.begun, r)
}

// arrive has a message arrive that has begun to: a reply to a call of this side, or another.
func (c *receivesConn) arrive(i int, reply bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Arrived(c.begun[i])
	c.arrived = append(c.arrived, c.begun[i])
	c.begun = slices.Delete(c.begun, i, i+1)
	if reply {
		c.calls--
		c.Answered()
	}
}

// call makes a call of this side.
func (c *receivesConn) call(t rapid.TB) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.Expect(); err != nil {
		t.Fatal(err)
	}
	c.calls++
	c.grants++
}

// grant posts up to n receives for a grant. That takes no memory but what Allow has taken, and what
// was lacking before, because receives have become longer.
func (c *receivesConn) grant(t rapid.TB, n int) {
	size, reserved := c.receiveBytes(), c.reserved
	spare := reserved - c.needs(c.postedMost())
	k := c.Allow(n)
	if took := c.reserved - reserved; k < 0 || k > n ||
		took >= max(0, int64(k)*size-spare)+size {
		t.Fatalf("allowed %d of %d, %d bytes for them beside %d", k, n, took, spare)
	}
	if k < n && c.share.More(1, size, c.reserved) > 0 {
		t.Fatalf("allowed %d of %d, but there is memory for more", k, n)
	}
	reserved = c.reserved
	if c.post(t, k); c.reserved-reserved > max(0, -spare) {
		t.Fatalf("%d bytes more for receives that were allowed", c.reserved-reserved)
	}
}

// end ends a message in hand.
func (c *receivesConn) end(t rapid.TB, i int) {
	r := c.arrived[i]
	c.arrived = slices.Delete(c.arrived, i, i+1)
	short := c.share.Short(c.reserved)
	c.Release(r)
	if needs := max(c.needs(c.postedMost()), c.least); short && c.isBusy() && c.reserved > needs {
		t.Fatalf("%d bytes stay reserved, %d are needed", c.reserved, needs)
	}
}

// repost ends a message that is neither a call nor a reply.
func (c *receivesConn) repost(i int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Repost(c.arrived[i])
	c.arrived = slices.Delete(c.arrived, i, i+1)
	c.grants++
}

// enlarge enlarges receives. Of those that are too short for what the peer may send, no more are
// left than spare.
func (c *receivesConn) enlarge(t rapid.TB, n, spare int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	got := c.Enlarge(n, spare)
	for _, r := range slices.Concat(c.begun, c.ep.queue) {
		if !c.ep.canHold && r.Size() < got {
			spare--
		}
	}
	if spare < 0 || got < testSize || got > n {
		t.Fatalf("enlarged to %d of %d bytes, %d receives beyond the spare ones are shorter", got, n,
			-spare)
	}
}

// close ends a connection, apart from the messages in hand.
func (c *receivesConn) close(t rapid.TB) {
	c.mu.Lock()
	c.Close()
	c.mu.Unlock()
	c.begun, c.ep.queue, c.grants, c.calls, c.waits = nil, nil, 0, 0, false
	if c.ep.canHold && c.ep.source.Receive() != nil {
		t.Fatal("memory for a message after the end")
	}
	most := memoryOf(c.arrived)
	if c.budget != nil && c.share.Short(c.reserved) {
		most = max(0, c.needs(0))
	}
	if c.reserved > most {
		t.Fatalf("%d bytes reserved for messages in hand, want %d or less", c.reserved, most)
	}
}

// memoryOf returns the bytes that receives take.
func memoryOf(rs []*Receive) (n int64) {
	for _, r := range rs {
		n += int64(ReceiveBytes(r.Size(), testAlign))
	}
	return n
}

// isBusy reports whether the connection is busy.
func (c *receivesConn) isBusy() bool {
	return len(c.arrived)+c.calls > 0 || len(c.begun) > 0 || !c.ep.canHold && c.grants > 0
}

// postedMost returns the bytes of posted receives, if all have the present length.
func (c *receivesConn) postedMost() int64 {
	if c.ep.canHold {
		return memoryOf(c.begun) + int64(c.grants)*c.receiveBytes()
	}
	return int64(len(c.begun)+c.grants) * c.receiveBytes()
}

// needs returns how many bytes must be reserved for posted receives of so many bytes, and for the
// messages in hand, while the connection is busy.
func (c *receivesConn) needs(posted int64) int64 {
	posted += memoryOf(c.arrived)
	if c.ep.canHold {
		posted -= testFree * c.receiveBytes()
	}
	return posted
}

// check checks the account of a connection.
func (c *receivesConn) check(t rapid.TB) {
	posted, least := c.postedMost(), int64(0)
	if !c.ep.canHold {
		posted = memoryOf(c.ep.queue) + memoryOf(c.begun)
		if !c.closed {
			least = testFree * testBytes
		}
	}
	busy := c.isBusy()
	switch {
	case !busy && c.reserved != least:
		t.Fatalf("%d bytes reserved while it is idle, want %d", c.reserved, least)
	case busy && c.reserved < c.needs(posted):
		t.Fatalf("%d bytes reserved, %d are needed", c.reserved, c.needs(posted))
	case c.ep.canHold && !c.closed && c.ep.source.Ready() != busy:
		t.Fatalf("busy: %v, ready: %v", busy, !busy)
	}
	if c.Expected() != c.calls {
		t.Fatalf("%d calls await their reply, want %d", c.Expected(), c.calls)
	}
}

// check checks the account of all memory, and that connections are resumed that need no longer
// wait.
func (r *receivesRig) check(t rapid.TB) {
	reserved, waiting, resumed := int64(0), 0, 0
	for _, c := range r.conns {
		c.check(t)
		if r.budget.Free() <= 0 && !c.Scarce() {
			t.Fatal("memory is not scarce when there is none")
		}
		reserved += c.reserved
		if c.waits && c.ep.resumed {
			resumed++
		} else if c.waits {
			waiting++
		}
	}
	if got := r.budget.Queued(); got < waiting || got > waiting+resumed {
		t.Fatalf("%d wait for memory, %d messages are held up", got, waiting)
	}
	// Those that were resumed may have been given memory.
	if got := r.budget.Taken(); got < reserved || resumed == 0 && got != reserved {
		t.Fatalf("%d bytes are taken, %d are reserved", got, reserved)
	}
}

// quiet ends all messages and calls, until nothing goes on by itself, and connections that keep
// memory while they are idle. Then nobody waits.
func (r *receivesRig) quiet(t rapid.TB) {
	for _, c := range r.conns {
		if !c.ep.canHold && !c.closed {
			c.close(t)
		}
	}
	for again := true; again; {
		again = false
		for _, c := range r.conns {
			if c.waits && c.ep.resumed || c.calls > len(c.begun) {
				again = true
				c.begin(t)
			}
			for len(c.begun) > 0 {
				c.arrive(0, c.calls > 0)
			}
			for len(c.arrived) > 0 {
				again = true
				c.end(t, 0)
			}
			r.check(t)
		}
	}
	if n := r.budget.Queued(); n > 0 {
		t.Fatalf("%d still wait for memory", n)
	}
}

// closed checks that all memory is back once all connections have ended.
func (r *receivesRig) closed(t rapid.TB) {
	for _, c := range r.conns {
		if !c.closed {
			c.close(t)
		}
		for len(c.arrived) > 0 {
			c.end(t, 0)
		}
	}
	r.check(t)
	r.pool.Close()
	if n, _ := r.domain.Allocated(); n > 0 || r.budget.Taken() > 0 || r.budget.Queued() > 0 {
		t.Fatalf("%d pieces of memory are left, %d bytes taken, %d wait", n, r.budget.Taken(),
			r.budget.Queued())
	}
}

// steps returns what may happen next.
func (r *receivesRig) steps(t *rapid.T) map[string]func() {
	steps := map[string]func(){"open": func() {
		host := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "host")
		canHold := rapid.IntRange(0, 2).Draw(t, "can hold, if not 0") > 0
		c, err := r.open(host, canHold)
		switch {
		case err == nil:
			c.post(t, rapid.IntRange(1, 4).Draw(t, "receives"))
		case canHold || !errors.Is(err, ErrNoRoom):
			t.Fatal(err)
		}
	}}
	for i, c := range r.conns {
		may := func(step string, possible bool, do func()) {
			if possible {
				steps[fmt.Sprintf("%s %d", step, i)] = do
			}
		}
		some := func(of []*Receive) int { return rapid.IntRange(0, len(of)-1).Draw(t, "message") }
		lives, inHand := !c.closed, len(c.arrived) > 0
		may("begin", c.grants > 0, func() { c.begin(t) })
		may("arrive", len(c.begun) > 0, func() {
			// A peer leaves receives for its replies.
			reply := c.calls > 0 &&
				(c.calls >= c.grants+len(c.begun) || rapid.Bool().Draw(t, "reply"))
			c.arrive(some(c.begun), reply)
		})
		may("end", inHand, func() { c.end(t, some(c.arrived)) })
		may("repost", lives && inHand, func() { c.repost(some(c.arrived)) })
		may("call", lives, func() { c.call(t) })
		may("grant", lives && inHand, func() {
			c.grant(t, rapid.IntRange(0, 5).Draw(t, "receives"))
		})
		may("enlarge", lives, func() {
			n := c.Longest() + rapid.IntRange(0, 2*testSize).Draw(t, "bytes more")
			c.enlarge(t, n, rapid.IntRange(0, 3).Draw(t, "spare"))
		})
		may("close", lives, func() { c.close(t) })
	}
	return steps
}

// TestReceivesModel: peers and calls of this side do anything, with little or much memory.
func TestReceivesModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := newReceivesRig(rapid.Int64Range(1, 20*testBytes).Draw(t, "memory"))
		for range rapid.IntRange(0, 100).Draw(t, "steps") {
			steps := r.steps(t)
			steps[rapid.SampledFrom(slices.Sorted(maps.Keys(steps))).Draw(t, "step")]()
			r.check(t)
		}
		r.quiet(t)
		r.closed(t)
	})
}

// TestReceivesEnlarge: receives become longer unless too many that are posted are shorter.
func TestReceivesEnlarge(t *testing.T) {
	r := newReceivesRig(1000 * testBytes)
	c, err := r.open("a", false)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ n, spare, want, posts int }{
		{testSize, 0, testSize, testSize}, // and then it posts a receive of so many bytes
		{200, 0, testSize, testSize},
		{200, 1, testSize, testSize},
		{200, 2, testSize, testSize},
		{200, 4, 200, 256},
		{300, 4, testSize, 256},
		{300, 6, 300, 512},
		{512, 6, 512, 512},
		{512, 5, testSize, 512},
	} {
		got := c.Enlarge(step.n, step.spare)
		c.post(t, 1)
		last := c.ep.queue[len(c.ep.queue)-1].Size()
		if got != step.want || last != step.posts || c.Longest() < got {
			t.Errorf("%d bytes, %d spare: %d, then a receive of %d, want %d and %d", step.n,
				step.spare, got, last, step.want, step.posts)
		}
	}
	c.Enlarge(1000, 10)
	c.share.Force(r.budget.Size())
	if n := c.Allow(1); n != 0 {
		t.Errorf("allowed %d while longer receives lack memory, want none", n)
	}
	c.share.Release(r.budget.Size(), 0)
	r.closed(t)
}

// TestReceivesEnlargePromised: promised receives become longer at once, if there is memory.
func TestReceivesEnlargePromised(t *testing.T) {
	for _, tt := range []struct {
		name             string
		memory           int64
		grants, n, want  int
		busy             bool
		reserved, longer int64 // in receives of testSize, and in bytes beyond these
	}{
		{"idle", 4 * testBytes, 5, 200, 200, false, 0, 0},
		{"no longer", 100 * testBytes, 5, testSize, testSize, true, 4, 0},
		{"plenty", 100 * testBytes, 5, 200, 200, true, 4, 4 * (256 - testSize)},
		{"too little", 10 * testBytes, 5, 200, testSize, true, 4, 0},
		{"one promised", testBytes, 2, 200, testSize, true, 1, 0},
		{"none promised", testBytes, 1, 200, 200, true, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newReceivesRig(tt.memory)
			c, err := r.open("a", true)
			if err != nil {
				t.Fatal(err)
			}
			c.post(t, tt.grants)
			if tt.busy {
				c.begin(t)
			}
			if got := c.Enlarge(tt.n, 0); got != tt.want || c.Longest() != got {
				t.Errorf("enlarged to %d bytes, want %d", got, tt.want)
			}
			if want := tt.reserved*testBytes + tt.longer; c.reserved != want {
				t.Errorf("%d bytes reserved, want %d", c.reserved, want)
			}
			r.closed(t)
		})
	}
}

// TestReceivesNotPosted: the provider takes no receives. What cannot be reported ends the
// connection.
func TestReceivesNotPosted(t *testing.T) {
	r := newReceivesRig(100 * testBytes)
	c, err := r.open("a", false)
	if err != nil {
		t.Fatal(err)
	}
	c.post(t, 1)
	c.ep.full = transport.ErrQueueFull
	if err := c.Expect(); !errors.Is(err, transport.ErrQueueFull) || c.Expected() != 0 {
		t.Errorf("%d replies expected: %v, want ErrQueueFull", c.Expected(), err)
	}
	c.begin(t)
	c.arrive(0, false)
	c.repost(0)
	c.grants = 0
	if err := hang.Receive(t, "the end", c.failed); err == nil {
		t.Error("no reason for the end")
	}
	r.closed(t)
}
