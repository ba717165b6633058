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
	calls   map[uint32]int // the connection of each, by number
	started []uint32       // in this order
}

const (
	budgetProgram = 400_002
	budgetCall    = 1
)

func newBudgetRig(server, conn int64, conns int) *budgetRig {
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
	for range conns {
		ep := newFakeEndpoint(1024, domain)
		c, err := newConn(ep, &cfg, &memory{pool: p, chunks: r.budget})
		if err != nil {
			panic(err)
		}
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
	r := newBudgetRig(100, 60, 2)
	a, b := r.call(0, 60), r.call(1, 40)
	c := r.call(0, 0) // needs nothing, and waits for nothing
	r.want(t, a, b, c)
	r.end(a, b, c)
	if r.budget.free != 100 || r.conns[0].flow.share.free != 60 || r.conns[1].flow.share.free != 60 {
		t.Errorf("free in the end: %d, %d, %d", r.budget.free, r.conns[0].flow.share.free, r.conns[1].flow.share.free)
	}
}

func TestBudgetConnectionLimit(t *testing.T) {
	r := newBudgetRig(100, 50, 2)
	a := r.call(0, 30)
	b := r.call(0, 30) // over the connection's limit
	c := r.call(0, 10) // would fit, but stands behind
	r.want(t, a)
	d := r.call(1, 50) // another connection is not held up
	r.want(t, d)
	r.end(a)
	r.want(t, b, c)
	r.end(b, c, d)
}

// What waits for memory of the server's is not overtaken by smaller calls that would fit.
func TestBudgetNotStarved(t *testing.T) {
	r := newBudgetRig(100, 80, 4)
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
	r.end(c)
	r.want(t, e)
	r.end(d)
	r.want(t, f)
	r.end(b, e, f)
}

// One that waits for its own connection does not keep others from memory of the server's; once only
// that is what it lacks, it does.
func TestBudgetBothLimits(t *testing.T) {
	r := newBudgetRig(100, 50, 3)
	a := r.call(0, 40)
	b := r.call(0, 50)
	c := r.call(1, 50)
	r.want(t, a, c)
	d := r.call(2, 10)
	r.want(t, d)
	e := r.call(2, 10) // of the server's 100, all are taken
	r.end(a)           // now b could start but for these 100: it is the older one
	r.want(t)
	r.end(d)
	r.want(t, b)
	r.end(c)
	r.want(t, e)
	r.end(b, e)
}

func TestBudgetConnectionEnds(t *testing.T) {
	r := newBudgetRig(100, 100, 3)
	a := r.call(0, 60)
	r.call(1, 80)
	r.call(1, 10)
	d := r.call(2, 40)
	r.want(t, a)
	r.lose(1) // and with it the calls that held up the last one
	r.want(t, d)
	if _, active, _ := r.conns[1].flow.granter.State(); active != 0 {
		t.Errorf("%d calls active on a connection that has ended", active)
	}
	r.lose(0) // with a call under way, whose memory comes back
	if r.budget.free != 60 {
		t.Errorf("%d free, want 60", r.budget.free)
	}
	r.end(d)
	if n := r.budget.queued.Load(); r.budget.free != 100 || n != 0 {
		t.Errorf("%d free, %d queued in the end", r.budget.free, n)
	}
}

// Grants shrink to what fits while calls wait.
func TestBudgetAllow(t *testing.T) {
	r := newBudgetRig(100, 60, 2)
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
	allow(0, 2, 1)       // of two calls one waits
	allow(1, 5, credits) // another connection's affair
	r.end(a)
	allow(0, 1, credits)
	r.end(b)
}

// The budget against a model that looks at everything every time.
func TestBudgetModel(t *testing.T) {
	type wish struct {
		id   uint32
		conn int
		size int64
	}
	rapid.Check(t, func(t *rapid.T) {
		const conns = 3
		perConn := rapid.Int64Range(10, 60).Draw(t, "connection's limit")
		server := rapid.Int64Range(perConn, 100).Draw(t, "server's limit")
		r := newBudgetRig(server, perConn, conns)
		free, connFree := server, slices.Repeat([]int64{perConn}, conns)
		var waiting, running []wish
		lost := make([]bool, conns)

		// start returns what starts now: in order of arrival, but for those whose connection is at
		// its limit, up to the first for which the server has no memory.
		start := func() (ids []uint32) {
			var kept []wish
			blocked := make([]bool, conns)
			for i, w := range waiting {
				switch {
				case blocked[w.conn]:
				case w.size > connFree[w.conn]:
					blocked[w.conn] = true
				case w.size > free:
					waiting = append(kept, waiting[i:]...)
					return ids
				default:
					free -= w.size
					connFree[w.conn] -= w.size
					running = append(running, w)
					ids = append(ids, w.id)
					continue
				}
				kept = append(kept, w)
			}
			waiting = kept
			return ids
		}
		check := func(what string, want []uint32) {
			if diff := cmp.Diff(want, r.started, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("%s: calls started (-want +got):\n%s", what, diff)
			}
			r.started = r.started[:0]
			if r.budget.free != free || free < 0 || int(r.budget.queued.Load()) != len(waiting) {
				t.Fatalf("%s: %d free, %d queued, want %d, %d", what, r.budget.free, r.budget.queued.Load(), free, len(waiting))
			}
		}
		finish := func(i int) {
			w := running[i]
			running = slices.Delete(running, i, i+1)
			free += w.size
			connFree[w.conn] += w.size
			want := start()
			r.end(w.id)
			check(fmt.Sprintf("call %d ends", w.id), want)
		}

		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			switch k := rapid.IntRange(0, 20).Draw(t, "step"); {
			case k == 0:
				conn := rapid.IntRange(0, conns-1).Draw(t, "connection")
				if lost[conn] {
					continue
				}
				lost[conn] = true
				r.lose(conn) // those under way on it end first
				gone := func(w wish) bool { return w.conn == conn }
				for _, w := range running {
					if gone(w) {
						free += w.size
					}
				}
				running = slices.DeleteFunc(running, gone)
				waiting = slices.DeleteFunc(waiting, gone)
				want := start()
				// The calls under way end one after the other: what is left of the connection may
				// start and end in between, and the order of the others is not that of one pass.
				r.started = slices.DeleteFunc(r.started, func(id uint32) bool { return r.calls[id] == conn })
				slices.Sort(want)
				slices.Sort(r.started)
				check(fmt.Sprintf("connection %d ends", conn), want)
			case k < 12:
				conn := rapid.IntRange(0, conns-1).Draw(t, "connection")
				size := rapid.Int64Range(1, perConn).Draw(t, "size")
				if lost[conn] {
					continue
				}
				id := uint32(len(r.calls) + 1)
				waiting = append(waiting, wish{id, conn, size})
				want := start()
				r.call(conn, size)
				check(fmt.Sprintf("call %d of %d bytes on connection %d", id, size, conn), want)
			case len(running) > 0:
				finish(rapid.IntRange(0, len(running)-1).Draw(t, "call"))
			}
		}
		for len(running) > 0 { // progress: the last that ends leaves none waiting
			finish(0)
		}
		if len(waiting) > 0 || free != server {
			t.Fatalf("%d wait in the end, %d of %d free", len(waiting), free, server)
		}
	})
}

// TestNothingWithheldAfterEnd has a handler reply when its connection has ended, with RDMA_DONEs owed that do not come any more.
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
	c.flow.share.free = cfg.ConnMemory
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
	if gone := c.flow.gone(); len(gone) != 1 || gone[0] != late {
		t.Errorf("%d replies given up at the end, want the one that was withheld", len(gone))
	}
	if !c.draft.pins.pin(reply(1 << 30)) {
		t.Error("a reply is withheld that nothing would ever send")
	}
}

// BenchmarkBudgetRelease gives memory back that suffices for none of those who wait, however many
// these are.
func BenchmarkBudgetRelease(b *testing.B) {
	for _, waiting := range []int{10, 30_000} {
		b.Run(fmt.Sprint(waiting), func(b *testing.B) {
			budget, holder := newBudget(100), &share{free: 100}
			holds := func() {
				in := &incoming{}
				in.needs = 50
				if !budget.reserve(holder, in) {
					b.Fatal("memory that is free was not to be had")
				}
			}
			holds()
			holds()
			for i := range waiting {
				in := &incoming{}
				in.needs = int64(60 + i%40)
				if budget.reserve(&share{free: 100}, in) {
					b.Fatal("more was reserved than there is")
				}
			}
			for b.Loop() {
				budget.release(holder, 50)
				budget.free, holder.free = budget.free-50, holder.free-50
			}
		})
	}
}
