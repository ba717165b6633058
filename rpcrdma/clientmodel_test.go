package rpcrdma_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// clientModel is a real client, whose server is played by hand, and a model of the client's calls:
// credits, RDMA Reads, RDMA_DONEs.
type clientModel struct {
	*rawPeer
	c       *rpcrdma.Conn
	credits int // credits that the client asks for
	held    *heldRequests
	serves  bool

	limit, begun  int
	waiting, sent []*clientModelCall // in order
	reading       []*clientModelCall // with an RDMA Read under way, in order
	// for each RDMA_DONE that the server may not have taken: begun when it was sent
	dones []int
	// replies received; which of them set the current grant
	heard, granted int

	arrived              map[uint32]uint32 // XIDs, by tail
	acked                map[uint32]int    // RDMA_DONEs, by XID
	made, calls, acks    int
	cancelled, late, bad uint64
}

type clientModelCall struct {
	*started
	cancel context.CancelFunc
	tail   uint32
	number int // among the calls that got a credit
	gone   bool

	// Of a reply that must be read.
	heard, grant int
	size         int
	doubtful     bool
}

// newClientModel makes a client, which is a server, too, or not: then a long reply might be a call.
func newClientModel(t testing.TB, credits int, serves bool) *clientModel {
	made, hold := heldReads()
	c, p := rawServerOn(t, rpcrdma.Config{Dialect: rpcrdma.Draft, Credits: credits}, inline4k, hold)
	if serves {
		serveBack(t, c)
	}
	return &clientModel{rawPeer: p, c: c, credits: credits, held: wait(t, made), serves: serves,
		limit: 1, arrived: make(map[uint32]uint32), acked: make(map[uint32]int)}
}

// promote has those that wait begin that may.
func (a *clientModel) promote() {
	for len(a.waiting) > 0 {
		inflight := len(a.sent) + len(a.reading)
		if inflight > 0 && inflight+len(a.dones) >= a.limit {
			return
		}
		k := a.waiting[0]
		a.waiting = a.waiting[1:]
		a.begun++
		a.calls++
		k.number = a.begun
		a.sent = append(a.sent, k)
	}
}

// call makes a call.
func (a *clientModel) call() {
	a.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	k := &clientModelCall{cancel: cancel, tail: uint32(1000 + a.made)}
	a.made++
	k.started = start(ctx, a.c, &items{data: [][]byte{{1}}, tail: k.tail}, nil)
	a.waiting = append(a.waiting, k)
	a.promote()
}

// giveUp has a caller give up, wherever his call is.
func (a *clientModel) giveUp(i int) {
	a.t.Helper()
	n := len(a.waiting)
	all := slices.Concat(a.waiting, a.sent, a.reading)
	k := all[i%len(all)]
	if k.gone {
		return
	}
	k.gone = true
	k.cancel()
	if err := wait(a.t, k.err); !errors.Is(err, context.Canceled) {
		a.t.Errorf("given up: %v", err)
	}
	if i%len(all) < n {
		a.waiting = slices.Delete(a.waiting, i%len(all), i%len(all)+1)
	} else {
		a.cancelled++
	}
}

// answer answers a call.
func (a *clientModel) answer(i int, kind string, grant int) {
	a.t.Helper()
	i %= len(a.sent)
	k := a.sent[i]
	a.sent = slices.Delete(a.sent, i, i+1)
	xid := a.arrived[k.tail]
	h := header(xid, rpcrdma.TypeMsg)
	h.Credits = uint32(grant)
	a.heard++
	k.heard, k.grant, k.size = a.heard, grant, 1024+int(k.tail)
	data := pattern(uint64(k.tail), k.size)
	switch kind {
	case "short":
		a.send(h, result(xid, 0))
		k.size = 0
		a.granting(k)
		a.over(k, nil)
	case "bad":
		h.Reads = a.readSegments(37, data)
		a.send(h, result(xid, k.size))
		a.granting(k)
		a.done(k)
		if !k.gone {
			a.bad++
		}
		a.over(k, chunks.ErrMalformed)
	case "data":
		h.Reads = a.readSegments(36, data)
		a.send(h, result(xid, k.size))
		a.granting(k)
		if k.gone { // the caller is gone, so it is not read
			a.done(k)
			a.over(k, nil)
			return
		}
		a.read(k)
	case "long":
		h.Type = rpcrdma.TypeNoMsg
		h.Reads = a.readSegments(0, echoReply(xid, data))
		a.send(h)
		k.doubtful = a.serves
		if !k.doubtful {
			a.granting(k)
			if k.gone {
				a.done(k)
				a.over(k, nil)
				return
			}
		}
		a.read(k)
	}
}

func (a *clientModel) read(k *clientModelCall) {
	a.reading = append(a.reading, k)
	a.promote()
	waitFor(a.t, func() bool { return len(a.held.queue) == len(a.reading) })
}

// released has the oldest RDMA Read complete.
func (a *clientModel) released() {
	a.t.Helper()
	k := a.reading[0]
	a.held.release(a.t, 1)
	a.reading = a.reading[1:]
	if k.doubtful {
		a.granting(k)
	}
	a.done(k)
	a.over(k, nil)
}

// granting has a reply take effect, but that its call is over.
func (a *clientModel) granting(k *clientModelCall) {
	if k.heard < a.granted {
		return
	}
	a.granted = k.heard
	a.limit = min(k.grant, a.credits)
	a.dones = slices.DeleteFunc(a.dones, func(begun int) bool { return begun < k.number })
	a.sent = append(a.sent, k) // for as long
	a.promote()
	a.sent = slices.DeleteFunc(a.sent, func(x *clientModelCall) bool { return x == k })
}

// done has an RDMA_DONE be sent.
func (a *clientModel) done(k *clientModelCall) {
	a.dones = append(a.dones, a.begun)
	a.acks++
}

// over has a call end.
func (a *clientModel) over(k *clientModelCall, want error) {
	a.t.Helper()
	a.promote()
	if k.gone {
		a.late++
		return
	}
	err := wait(a.t, k.err)
	k.cancel()
	switch {
	case !errors.Is(err, want):
		a.t.Errorf("call: %v, want %v", err, want)
	case want == nil && !bytes.Equal(k.reply.data[0], pattern(uint64(k.tail), k.size)):
		a.t.Error("the reply differs")
	}
}

// settle waits until everything that the client sent has arrived, and compares it with the model.
func (a *clientModel) settle() {
	a.t.Helper()
	waitRight(a.t, func() (wrong string) {
		for len(a.msgs) > 0 {
			h, body := a.next()
			if h.Type == rpcrdma.TypeDone {
				a.acked[h.XID]++
			} else {
				a.arrived[binary.BigEndian.Uint32(body[len(body)-4:])] = h.XID
			}
		}
		return a.wrong()
	})
}

func (a *clientModel) wrong() string {
	acked := 0
	for _, n := range a.acked {
		acked += min(n, 1) // not two for one reply
	}
	for _, k := range a.sent {
		if _, ok := a.arrived[k.tail]; !ok {
			return fmt.Sprintf("call %d is not here", k.tail)
		}
	}
	if len(a.arrived) != a.calls || acked != a.acks {
		return fmt.Sprintf("%d calls and %d RDMA_DONEs have come, want %d and %d", len(a.arrived),
			acked, a.calls, a.acks)
	}
	limit, inflight, waiting := a.c.Credits()
	if want := []int{a.limit, len(a.sent) + len(a.reading) + len(a.dones), len(a.waiting)}; !slices.Equal([]int{limit, inflight, waiting}, want) {
		return fmt.Sprintf("Credits() = %d, %d, %d, want %d", limit, inflight, waiting, want)
	}
	s := a.c.Stats()
	got := []uint64{s.CallsSent, s.DonesSent, s.Cancelled, s.LateReplies, s.Malformed, s.UnknownXID}
	if want := []uint64{uint64(a.calls), uint64(a.acks), a.cancelled, a.late, a.bad, 0}; !slices.Equal(got, want) {
		return fmt.Sprintf("counted %d, want %d", got, want)
	}
	return ""
}

// TestAsking lets a server grant and answer at random, at once and late, with replies of all kinds,
// while callers cancel at random. At each step the client has exactly as many calls on the wire as
// it was granted, RDMA_DONEs included. Each call ends as it must, and each reply with a read list
// gets one RDMA_DONE.
func TestAsking(t *testing.T) {
	kinds := []string{"call", "call", "data", "long", "read", "call", "short", "data", "read",
		"give up", "bad", "long", "read"}
	rapid.Check(t, func(rt *rapid.T) {
		tb := &rapidTB{TB: t, rt: rt}
		rt.Cleanup(tb.clean)
		a := newClientModel(tb, rapid.SampledFrom([]int{1, 2, 3, 8}).Draw(rt, "credits"),
			rapid.Bool().Draw(rt, "serves"))
		domain := a.ep.Domain().(*loopback.Domain)
		for range rapid.SampledFrom([]int{20, 60}).Draw(rt, "steps") {
			kind := rapid.SampledFrom(kinds).Draw(rt, "kind")
			i := rapid.IntRange(0, 20).Draw(rt, "call")
			grant := rapid.SampledFrom([]int{0, 1, 2, 5, 8, 100}).Draw(rt, "grant")
			switch {
			case kind == "call":
				a.call()
			case kind == "give up" && len(a.waiting)+len(a.sent)+len(a.reading) > 0:
				a.giveUp(i)
			case kind == "read" && len(a.reading) > 0:
				a.released()
			case kind == "call", kind == "give up", kind == "read", len(a.sent) == 0:
				continue
			default:
				a.answer(i, kind, grant)
			}
			a.settle()
		}
		a.call()
		for len(a.waiting)+len(a.sent)+len(a.reading) > 0 {
			a.settle()
			if len(a.reading) > 0 {
				a.released()
			} else {
				a.answer(0, "short", 0)
			}
		}
		a.settle()
		a.c.Close()
		ended(a.t, a.c)
		if n, size := domain.Allocated(); n != 0 {
			rt.Errorf("%d pieces of memory leaked, %d bytes", n, size)
		}
	})
}
