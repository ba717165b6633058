package rpcrdma

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// These tests are inside the package for the order in which calls get memory: a budget of a hundred
// bytes, which no configuration gives, and a model of it tell more than calls of 64 KiB. That
// connections keep to it and give all back is tested from outside (memory_test.go).

// budgetRig is a server's budget and some connections of it. A call starts when its handler runs,
// and holds its memory until its reply is sent, which is when the test says so.
type budgetRig struct {
	budget  *budget
	srv     *oncrpc.Server
	eps     []*fakeEndpoint
	conns   []*Conn
	calls   map[uint32]int // call number to connection
	started []uint32       // in this order
}

const (
	budgetProgram = 400_002
	budgetCall    = 1
)

// newBudgetRig makes a server with so much memory, and a connection for each of hosts, with so much
// each.
func newBudgetRig(server, conn int64, hosts ...string) *budgetRig {
	r := &budgetRig{
		budget: newBudget(server),
		srv:    oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet}),
		calls:  make(map[uint32]int),
	}
	r.srv.Handle(oncrpc.Program{Number: budgetProgram, Version: 1, Procedures: []oncrpc.Procedure{
		budgetCall: {Name: "CALL", NonBlocking: true, Handler: func(_ context.Context, c *oncrpc.Call) error {
			r.started = append(r.started, c.XID)
			return nil
		}},
	}})
	cfg, err := Config{Logger: quiet}.withDefaults()
	if err != nil {
		panic(err)
	}
	cfg.ConnMemory = conn
	domain := new(loopback.Domain)
	p := newPool(domain)
	for i, host := range hosts {
		ep := newFakeEndpoint(1024, domain)
		ep.peer = loopback.Addr(fmt.Sprintf("%s:%d", host, i))
		c, err := newConn(ep, &cfg, &memory{pool: p, chunks: r.budget})
		if err != nil {
			panic(err)
		}
		c.connected()
		c.Serve(r.srv)
		r.eps, r.conns = append(r.eps, ep), append(r.conns, c)
	}
	return r
}

// call makes a call that needs size bytes arrive, and returns its number.
func (r *budgetRig) call(conn int, size int64) uint32 {
	c := r.conns[conn]
	id := uint32(len(r.calls) + 1)
	r.calls[id] = conn
	in := getIncoming(c, oncrpc.DispatcherOf(r.srv))
	in.header = &Header{XID: id, Version: ProtocolVersion, Credits: 1, Type: TypeMsg}
	m := callMessage(id, budgetCall, nil)
	in.body = m.AppendTo(nil)
	binary.BigEndian.PutUint32(in.body[12:], budgetProgram)
	in.needs = size
	c.mu.Lock()
	c.flow.granter.CallReceived()
	c.mu.Unlock()
	if c.flow.admit(in) {
		in.fetchMessage()
	}
	return id
}

// end sends the replies to calls.
func (r *budgetRig) end(ids ...uint32) {
	for _, id := range ids {
		if !r.eps[r.calls[id]].finish(func(wr *transport.WorkRequest) bool {
			return binary.BigEndian.Uint32(wr.Local[0].Bytes) == id
		}) {
			panic(fmt.Sprintf("call %d is not under way", id))
		}
	}
}

// lose ends a connection.
func (r *budgetRig) lose(conn int) {
	r.eps[conn].end()()
	r.conns[conn].watch()
}

// want checks which calls have started since the last want.
func (r *budgetRig) want(t *testing.T, ids ...uint32) {
	t.Helper()
	if diff := cmp.Diff(ids, r.started, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("calls started (-want +got):\n%s", diff)
	}
	r.started = r.started[:0]
}

func TestBudgetRoom(t *testing.T) {
	r := newBudgetRig(100, 60, "a", "b")
	a, b := r.call(0, 60), r.call(1, 40)
	c := r.call(0, 0) // needs no memory and does not wait
	r.want(t, a, b, c)
	r.end(a, b, c)
	if r.budget.free != 100 || r.conns[0].flow.share.free != 60 || r.conns[1].flow.share.free != 60 {
		t.Errorf("free in the end: %d, %d, %d", r.budget.free, r.conns[0].flow.share.free,
			r.conns[1].flow.share.free)
	}
}

// A call that needs all there is starts when its host has nothing.
func TestBudgetWhole(t *testing.T) {
	r := newBudgetRig(100, 100, "a", "b")
	a := r.call(0, 100)
	b := r.call(1, 1)
	c := r.call(0, 100)
	r.want(t, a)
	r.end(a)
	r.want(t, b)
	r.end(b)
	r.want(t, c)
	r.end(c)
}

func TestBudgetConnectionLimit(t *testing.T) {
	r := newBudgetRig(1000, 50, "a", "a")
	a := r.call(0, 30)
	b := r.call(0, 30) // over the connection's limit
	c := r.call(0, 10) // would fit, but is behind b
	r.want(t, a)
	d := r.call(1, 50) // another connection of the host is not held up
	r.want(t, d)
	r.end(a)
	r.want(t, b, c)
	r.end(b, c, d)
}

// One host alone has no more than it leaves: a half. Another one finds something, and has what that
// leaves.
func TestBudgetShares(t *testing.T) {
	r := newBudgetRig(100, 100, "greedy", "greedy", "good", "new")
	var greedy []uint32
	for i := range 8 {
		greedy = append(greedy, r.call(i%2, 10))
	}
	r.want(t, greedy[:5]...) // the others wait: 50 are free
	var good []uint32
	for range 4 {
		good = append(good, r.call(2, 10))
	}
	r.want(t, good[:2]...) // 30 are free, 20 in use
	n := r.call(3, 30)     // its host has nothing and gets what there is
	r.want(t, n)
	r.end(good[0], good[1])
	r.want(t, good[2]) // 10 are free
	r.end(n)
	r.want(t, good[3]) // the host that has least comes first: of 30 free it then has 20
	r.end(greedy[0])
	r.want(t) // its host has 40, and 40 are free
	r.end(greedy[1])
	r.want(t, greedy[5])
	r.end(good[2], good[3])
	r.want(t, greedy[6]) // its host has 50, and 50 are free
	r.end(greedy[2], greedy[3], greedy[4])
	r.want(t, greedy[7])
	r.end(greedy[5:]...)
}

// What a host with nothing waits for is not overtaken by smaller calls that would fit.
func TestBudgetNotStarved(t *testing.T) {
	r := newBudgetRig(100, 80, "a", "b", "c", "d")
	a := r.call(0, 60)
	b := r.call(1, 80)
	c := r.call(2, 10)
	d := r.call(3, 10)
	r.want(t, a)
	r.end(a)
	r.want(t, b, c, d)
	e := r.call(0, 10)
	f := r.call(2, 1)
	r.want(t)
	r.end(c) // f came later, and its host has nothing either
	r.want(t, e)
	r.end(d)
	r.want(t, f)
	r.end(b, e, f)
}

// Of the calls of a host, the first is not overtaken either.
func TestBudgetFirstOfHost(t *testing.T) {
	r := newBudgetRig(100, 100, "a", "a", "b")
	a := r.call(0, 40)
	b := r.call(0, 50)
	c := r.call(1, 10) // would fit
	d := r.call(2, 10) // of another host
	r.want(t, a, d)
	r.end(a)
	r.want(t, b)
	r.end(b)
	r.want(t, c)
	r.end(c, d)
}

// TestBudgetBothLimits: a call that waits for its connection's memory does not keep other calls
// from the server's memory. A call that only lacks the server's memory does.
func TestBudgetBothLimits(t *testing.T) {
	r := newBudgetRig(100, 50, "a", "c", "e")
	a := r.call(0, 40)
	b := r.call(0, 50)
	c := r.call(1, 50)
	r.want(t, a, c)
	d := r.call(2, 10)
	r.want(t, d)
	e := r.call(2, 10) // all of the server's 100 are taken
	r.end(a)           // now b only lacks the server's memory, and its host has nothing
	r.want(t)
	r.end(d)
	r.want(t, b)
	r.end(c)
	r.want(t, e)
	r.end(b, e)
}

func TestBudgetConnectionEnds(t *testing.T) {
	r := newBudgetRig(100, 100, "a", "b", "c")
	a := r.call(0, 60)
	r.call(1, 80)
	r.call(1, 10)
	d := r.call(2, 40)
	r.want(t, a)
	r.lose(1) // its calls held up the last one
	r.want(t, d)
	if _, active, _ := r.conns[1].flow.granter.State(); active != 0 {
		t.Errorf("%d calls active on a connection that has ended", active)
	}
	r.lose(0) // its call under way gives its memory back
	if r.budget.free != 60 {
		t.Errorf("%d free, want 60", r.budget.free)
	}
	r.end(d)
	if n := r.budget.queued.Load(); r.budget.free != 100 || n != 0 {
		t.Errorf("%d free, %d queued in the end", r.budget.free, n)
	}
}

// TestBudgetForgets: the budget forgets a host when its last connection has ended and the memory of
// all its calls is back.
func TestBudgetForgets(t *testing.T) {
	b := newBudget(100)
	hosts := func(want int) {
		t.Helper()
		if len(b.hosts) != want {
			t.Errorf("%d hosts, want %d", len(b.hosts), want)
		}
	}
	join := func(host string) *share {
		s := new(share)
		b.join(s, peerhost.Of(loopback.Addr(host)), 100)
		return s
	}
	leave := func(s *share) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.leave(s)
	}
	one, same, other := join("a:1"), join("a:2"), join("b:1")
	hosts(2)
	leave(other)
	leave(one)
	hosts(1)
	in := new(incoming)
	in.needs = 30
	if !b.reserve(same, in) {
		t.Fatal("memory that is free was not to be had")
	}
	leave(same)
	hosts(1)
	again := join("a:3")
	if again.host != same.host || again.host.has != 30 {
		t.Errorf("a host that comes again has %d, want the 30 of before", again.host.has)
	}
	leave(again)
	b.release(same, 30)
	hosts(0)
	again = join("a:4")
	b.release(same, 0) // a previous call that had nothing
	hosts(1)
	leave(again)
	hosts(0)
}

// Grants shrink to what fits while calls wait.
func TestBudgetAllow(t *testing.T) {
	r := newBudgetRig(100, 60, "a", "a", "b")
	allow := func(conn, active, want int) {
		t.Helper()
		c := r.conns[conn]
		if n := r.budget.allow(&c.flow.share, active, c.cfg.Credits); n != want {
			t.Errorf("allow() = %d with %d active, want %d", n, active, want)
		}
	}
	credits := r.conns[0].cfg.Credits
	allow(0, 3, credits)
	a, b := r.call(0, 50), r.call(0, 50)
	allow(0, 2, 1)       // one of two calls waits
	allow(1, 5, credits) // another connection's affair
	r.end(a)
	allow(0, 1, credits)
	c := r.call(1, 10)
	allow(1, 1, 0)       // its only call waits: its host has half
	allow(0, 3, 3)       // so all connections of the host wait
	allow(2, 5, credits) // but not other hosts
	r.end(b)
	allow(0, 3, credits)
	r.end(c)
}

// The budget against a model that looks at everything every time.
func TestBudgetModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		perConn := rapid.Int64Range(10, 60).Draw(t, "connection's limit")
		server := rapid.Int64Range(perConn, 200).Draw(t, "server's limit")
		hosts := []string{"a", "a", "b", "b", "c"}
		m := &budgetModel{
			free: server, hosts: hosts, hostHas: make(map[string]int64),
			connFree: slices.Repeat([]int64{perConn}, len(hosts)),
		}
		r := newBudgetRig(server, perConn, hosts...)
		lost := make([]bool, len(hosts))

		check := func(what string, want []uint32) {
			if diff := cmp.Diff(want, r.started, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("%s: calls started (-want +got):\n%s", what, diff)
			}
			r.started = r.started[:0]
			free, queued := r.budget.free, int(r.budget.queued.Load())
			if free != m.free || free < 0 || queued != len(m.waiting) {
				t.Fatalf("%s: %d free, %d queued, want %d, %d", what, free, queued, m.free,
					len(m.waiting))
			}
		}
		finish := func(i int) {
			w := m.running[i]
			m.running = slices.Delete(m.running, i, i+1)
			m.charge(w, -1)
			want := m.start()
			r.end(w.id)
			check(fmt.Sprintf("call %d ends", w.id), want)
		}

		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			switch k := rapid.IntRange(0, 20).Draw(t, "step"); {
			case k == 0:
				conn := rapid.IntRange(0, len(hosts)-1).Draw(t, "connection")
				if lost[conn] {
					continue
				}
				lost[conn] = true
				// The calls under way end one after another, and others may start in between. So
				// the order and the set of started calls may differ from those of calls that end at
				// once.
				r.lose(conn)
				m.lose(conn, r.started)
				r.started = r.started[:0]
				want := m.start()
				check(fmt.Sprintf("connection %d ends", conn), want)
			case k < 12:
				conn := rapid.IntRange(0, len(hosts)-1).Draw(t, "connection")
				size := rapid.Int64Range(1, perConn).Draw(t, "size")
				if lost[conn] {
					continue
				}
				id := uint32(len(r.calls) + 1)
				m.waiting = append(m.waiting, wish{id, conn, size})
				want := m.start()
				r.call(conn, size)
				check(fmt.Sprintf("call %d of %d bytes on connection %d", id, size, conn), want)
			case len(m.running) > 0:
				finish(rapid.IntRange(0, len(m.running)-1).Draw(t, "call"))
			}
		}
		for len(m.running) > 0 { // progress: when the last call has ended, none waits
			finish(0)
		}
		if len(m.waiting) > 0 || m.free != server {
			t.Fatalf("%d wait in the end, %d of %d free", len(m.waiting), m.free, server)
		}
		for i := range hosts {
			if !lost[i] {
				r.lose(i)
			}
		}
		if n := len(r.budget.hosts); n != 0 {
			t.Fatalf("%d hosts are known without a connection", n)
		}
	})
}

// budgetModel is what must come of the calls of connections.
type budgetModel struct {
	free             int64
	connFree         []int64
	hosts            []string // of the connections
	hostHas          map[string]int64
	waiting, running []wish // in the order of arrival
}

type wish struct {
	id   uint32
	conn int
	size int64
}

// charge notes that a call has got its memory, or with sign -1 that it has given it back.
func (m *budgetModel) charge(w wish, sign int64) {
	m.free -= sign * w.size
	m.connFree[w.conn] -= sign * w.size
	m.hostHas[m.hosts[w.conn]] += sign * w.size
}

// candidates returns the call of each host that would be the next: the oldest that is the first of
// its connection, and within the limit of that.
func (m *budgetModel) candidates() (all []wish) {
	conns, hosts := make(map[int]bool), make(map[string]bool)
	for _, w := range m.waiting {
		first := !conns[w.conn]
		conns[w.conn] = true
		if host := m.hosts[w.conn]; first && w.size <= m.connFree[w.conn] && !hosts[host] {
			hosts[host] = true
			all = append(all, w)
		}
	}
	return all
}

// next returns the call that starts now, if there is one.
func (m *budgetModel) next() (next wish, ok bool) {
	has := func(w wish) int64 { return m.hostHas[m.hosts[w.conn]] }
	all := m.candidates()
	for _, w := range all { // by arrival
		if has(w) == 0 {
			return w, w.size <= m.free // others must not take the memory that it waits for
		}
	}
	for _, w := range all {
		if then := has(w) + w.size; then > m.free-w.size {
			continue // its host would have more than is left for the others
		}
		if !ok || has(w)+2*w.size < has(next)+2*next.size {
			next, ok = w, true
		}
	}
	return next, ok
}

// start returns what starts now, in this order.
func (m *budgetModel) start() (ids []uint32) {
	for w, ok := m.next(); ok; w, ok = m.next() {
		m.begin(w)
		ids = append(ids, w.id)
	}
	return ids
}

func (m *budgetModel) begin(w wish) {
	m.waiting = slices.DeleteFunc(m.waiting, func(o wish) bool { return o.id == w.id })
	m.charge(w, 1)
	m.running = append(m.running, w)
}

// lose notes that a connection has ended, and that these calls have started meanwhile.
func (m *budgetModel) lose(conn int, started []uint32) {
	for _, w := range slices.Clone(m.waiting) {
		if slices.Contains(started, w.id) {
			m.begin(w)
		}
	}
	gone := func(w wish) bool { return w.conn == conn }
	for _, w := range m.running {
		if gone(w) {
			m.charge(w, -1)
		}
	}
	m.running = slices.DeleteFunc(m.running, gone)
	m.waiting = slices.DeleteFunc(m.waiting, gone)
}

// TestNothingWithheldAfterEnd: a handler replies after its connection has ended, while RDMA_DONEs
// are owed that will not come any more.
func TestNothingWithheldAfterEnd(t *testing.T) {
	cfg, err := Config{
		Dialect: Draft, MaxMessage: 65536, ConnMemory: 131072, ServerMemory: 131072, Credits: 16,
	}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	c := &Conn{cfg: &cfg}
	c.draft = newDraft(c)
	c.flow = flow{conn: c, memory: &memory{chunks: newBudget(cfg.ServerMemory)}}
	c.flow.memory.chunks.join(&c.flow.share, peerhost.Host{}, cfg.ConnMemory)
	reply := func(pinned int64) *incoming {
		in := newIncoming()
		in.c, in.reply.read.pinned = c, pinned
		return in
	}
	for range cfg.Credits {
		if !c.draft.pins.pin(reply(1)) {
			t.Fatal("withheld without a reason")
		}
	}
	late := reply(1)
	if c.draft.pins.pin(late) {
		t.Fatal("more RDMA_DONEs owed than there are credits")
	}
	if gone, _ := c.flow.gone(); len(gone) != 1 || gone[0] != late {
		t.Errorf("%d replies given up at the end, want the one that was withheld", len(gone))
	}
	if !c.draft.pins.pin(reply(1 << 30)) {
		t.Error("a reply is withheld that nothing would ever send")
	}
}

// BenchmarkBudgetRelease releases memory that is not enough for any waiting call. Few or many calls
// wait, of one host or of many.
func BenchmarkBudgetRelease(b *testing.B) {
	for _, waiting := range []int{10, 30_000} {
		for _, hosts := range []int{1, waiting} {
			b.Run(fmt.Sprintf("%d of %d hosts", waiting, hosts), func(b *testing.B) {
				budget := newBudget(100)
				join := func(host int) *share {
					s := new(share)
					budget.join(s, peerhost.Of(loopback.Addr(fmt.Sprint(host))), 100)
					return s
				}
				reserve := func(s *share, n int64) bool {
					in := &incoming{}
					in.needs = n
					return budget.reserve(s, in)
				}
				holder, other := join(-1), join(-2)
				if !reserve(holder, 50) || !reserve(other, 50) {
					b.Fatal("memory that is free was not to be had")
				}
				for i := range waiting {
					if reserve(join(i%hosts), int64(60+i%40)) {
						b.Fatal("more was reserved than there is")
					}
				}
				for b.Loop() {
					budget.release(holder, 50)
					budget.charge(holder, 50)
				}
			})
		}
	}
}
