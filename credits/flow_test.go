package credits

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"
)

// exchange is a call and its reply.
type exchange struct {
	credit Credit
	grant  int
	owes   bool // the reply has a read list
	freed  bool // the server has its memory back
}

// message is one on its way to the server.
type message struct {
	*exchange
	done bool // an RDMA_DONE
}

// flow is a client and a server, with a connection between them that keeps messages in order and
// takes its time. An exchange is in one of these lists from its Send until its end.
type flow struct {
	client requester
	server responder
	budget int // replies that the server has memory for, until they are fetched

	toServer []message
	active   []*exchange // received by the server
	withheld []*exchange // received, too, and waiting for DONEs
	toClient []*exchange
	fetching []*exchange // replies with read lists, at the client

	owed    []*exchange // replies with read lists: their DONE is not at the server
	dropped int         // calls that get no reply
	heard   int         // the grant that the client got last
	ended   bool        // the server could not post enough receives
}

// event is a step of one of the two sides, or of the connection.
type event struct {
	kind   string
	pick   int
	answer ReplyTerms
	short  int // receives that cannot be posted
}

var events = rapid.Custom(func(t *rapid.T) event {
	return event{
		kind: rapid.SampledFrom([]string{
			"call", "call", "call", "send", "send", "send", "arrive", "arrive", "arrive", "answer", "answer", "answer",
			"reply", "reply", "fetched", "fetched", "withhold", "time limit", "give up", "not sent", "drop",
		}).Draw(t, "kind"),
		pick: rapid.IntRange(0, 20).Draw(t, "pick"),
		answer: ReplyTerms{
			Requested: rapid.Uint32Range(0, 12).Draw(t, "requested"),
			Allow:     rapid.IntRange(-3, 12).Draw(t, "allow"),
			Owes:      rapid.Bool().Draw(t, "read list"),
		},
		short: max(0, rapid.IntRange(-40, 12).Draw(t, "short")),
	}
})

// pop takes one of a list.
func pop(list *[]*exchange, i int) *exchange {
	i %= len(*list)
	x := (*list)[i]
	*list = slices.Delete(*list, i, i+1)
	return x
}

// step does what e says, if that is possible.
//
// Abandoning a call that has been sent changes nothing: the call keeps its credit, and its late
// reply gets its RDMA_DONE.
func (f *flow) step(e event) error {
	switch n := f.client.ready(); {
	case e.kind == "call":
		f.client.want()
	case e.kind == "give up":
		f.client.giveUp(e.pick)
	case e.kind == "send" && n > 0: // not always in the order of the credits
		f.toServer = append(f.toServer, message{exchange: &exchange{credit: f.client.take(e.pick % n)}})
	case e.kind == "not sent" && n > 0:
		f.client.cancel(f.client.take(e.pick % n))
	case e.kind == "arrive" && len(f.toServer) > 0:
		return f.arrive()
	case e.kind == "answer" && len(f.active) > 0:
		x := pop(&f.active, e.pick)
		x.owes = e.answer.Owes
		if x.owes && !f.fits() {
			f.withheld = append(f.withheld, x)
		} else {
			return f.reply(x, e)
		}
	case e.kind == "withhold" && len(f.active) > 0 && len(f.owed) > 0:
		f.withheld = append(f.withheld, pop(&f.active, e.pick))
	case e.kind == "reply" && len(f.toClient) > 0:
		x := pop(&f.toClient, 0)
		f.heard = x.grant
		if x.owes {
			f.client.grant(x.credit, uint32(x.grant))
			f.fetching = append(f.fetching, x)
		} else {
			f.client.release(x.credit, uint32(x.grant))
		}
	case e.kind == "fetched" && len(f.fetching) > 0:
		x := pop(&f.fetching, e.pick)
		f.client.done(x.credit)
		f.toServer = append(f.toServer, message{exchange: x, done: true})
	case e.kind == "time limit" && len(f.owed) > 0: // the DONE comes late
		f.owed[e.pick%len(f.owed)].freed = true
		return f.resume(e)
	case e.kind == "drop" && len(f.active) > 0:
		pop(&f.active, e.pick)
		f.server.dropped()
		f.dropped++
	}
	return nil
}

func (f *flow) arrive() error {
	m := f.toServer[0]
	f.toServer = f.toServer[1:]
	if f.server.posted() == 0 {
		return fmt.Errorf("no receive for a message (DONE: %v)", m.done)
	}
	if !m.done {
		f.server.received()
		f.active = append(f.active, m.exchange)
		return nil
	}
	f.owed = slices.DeleteFunc(f.owed, func(x *exchange) bool { return x == m.exchange })
	if !f.server.done() {
		return errors.New("a DONE that is not owed")
	}
	return f.resume(event{answer: ReplyTerms{Requested: 4, Allow: 4}})
}

// fits reports whether there is memory for one more reply with a read list, and a DONE may be owed
// for it.
func (f *flow) fits() bool {
	pinned := 0
	for _, x := range f.owed {
		if !x.freed {
			pinned++
		}
	}
	return (pinned == 0 || pinned < f.budget) && !f.server.full(len(f.withheld) > 0)
}

// resume sends the replies for which a DONE, or the time limit, has made room.
func (f *flow) resume(e event) error {
	for len(f.withheld) > 0 {
		x := f.withheld[0]
		f.withheld = f.withheld[1:]
		if x.owes && !f.fits() {
			f.withheld = slices.Insert(f.withheld, 0, x)
			return nil
		}
		if err := f.reply(x, e); err != nil {
			return err
		}
	}
	return nil
}

func (f *flow) reply(x *exchange, e event) error {
	e.answer.Owes = x.owes
	if e.answer.Withheld = len(f.withheld) > 0; e.answer.Withheld && e.pick%2 == 0 {
		e.answer.Allow = 0
	}
	grant, ok := f.server.reply(e.answer, e.short)
	if !ok {
		f.ended = true
		return nil
	}
	if grant == 0 && len(f.withheld) == 0 {
		return errors.New("nothing is granted, and no reply is withheld")
	}
	x.grant = grant
	if x.owes {
		f.owed = append(f.owed, x)
	}
	f.toClient = append(f.toClient, x)
	return nil
}

// check checks what holds at any time. Before the step, begun calls had a credit.
func (f *flow) check(begun int) error {
	limit, inflight, dones, waiting := f.client.state()
	posted := f.server.posted()
	calls := 0
	for _, m := range f.toServer {
		if !m.done {
			calls++
		}
	}
	if n := f.client.ready() + calls + len(f.active) + len(f.withheld) + len(f.toClient) + len(f.fetching) + f.dropped; inflight != n {
		return fmt.Errorf("%d calls under way, want %d", inflight, n)
	}
	if n := len(f.toServer) - calls; dones < n {
		return fmt.Errorf("%d DONEs counted, %d on their way", dones, n)
	}
	if w, ok := f.client.(*windowClient); ok {
		if want := min(f.heard, w.max); limit != want {
			return fmt.Errorf("the client goes by a grant of %d, want %d", limit, want)
		}
		if dones > w.max {
			return fmt.Errorf("%d DONEs counted, %d are the most", dones, w.max)
		}
		if inflight > begun && inflight > 1 && inflight+dones > limit {
			return fmt.Errorf("a call began with %d calls and %d DONEs, %d granted", inflight,
				dones, limit)
		}
	}
	// No message comes without a receive, whatever the client does before it hears more.
	more := f.client.ready() + f.client.may()
	if inflight == len(f.fetching) {
		more = max(more, 1) // when the DONEs have been sent
	}
	if need := calls + len(f.owed) + more; posted < need {
		return fmt.Errorf("%d receives posted, %d calls and %d DONEs can come", posted, calls+more,
			len(f.owed))
	}
	if n, most := posted+len(f.active)+len(f.withheld), f.server.most(len(f.owed)); n > most {
		return fmt.Errorf("%d receives posted or used up by calls under way, %d are the most", n,
			most)
	}
	if g, ok := f.server.(*granterServer); ok {
		if counted, active, owed := g.State(); counted != posted || active != len(f.active)+len(f.withheld) || owed != len(f.owed) {
			return fmt.Errorf("State() = %d, %d, %d, want %d, %d, %d", counted, active, owed,
				posted, len(f.active)+len(f.withheld), len(f.owed))
		}
	}
	// Nobody waits for nothing.
	if waiting > 0 && f.client.may() > 0 {
		return fmt.Errorf("%d calls wait, and %d may begin", waiting, f.client.may())
	}
	if len(f.withheld) > 0 && len(f.owed) == 0 {
		return errors.New("a reply is withheld, and no DONE will come")
	}
	if waiting > 0 && inflight == 0 && len(f.toServer) == 0 {
		return fmt.Errorf("%d calls wait, and nothing is under way", waiting)
	}
	return nil
}

// run takes the steps; then all that is under way comes to its end, and no call may be left
// waiting.
func (f *flow) run(steps []event) error {
	f.heard = 1
	f.server.start()
	for i, e := range steps {
		if err := f.checked(e); err != nil {
			return fmt.Errorf("step %d, %s: %w", i, e.kind, err)
		}
		if f.ended {
			return nil
		}
	}
	if f.dropped > 0 {
		return nil
	}
	f.client.want()
	for i := 0; ; i++ {
		_, inflight, _, waiting := f.client.state()
		if inflight == 0 && waiting == 0 && len(f.toServer) == 0 {
			return nil
		}
		if i > 1000 {
			return fmt.Errorf("%d calls wait, %d are under way, and there is no end", waiting,
				inflight)
		}
		for _, kind := range []string{"send", "arrive", "answer", "reply", "fetched"} {
			if err := f.checked(event{kind: kind, answer: ReplyTerms{Owes: i%2 == 0}}); err != nil {
				return fmt.Errorf("in the end, %s: %w", kind, err)
			}
		}
	}
}

func (f *flow) checked(e event) error {
	_, begun, _, _ := f.client.state()
	if err := f.step(e); err != nil || f.ended {
		return err
	}
	return f.check(begun)
}

// bubble runs f where the goroutines of callers can be waited for.
func bubble(t *testing.T, f func() error) (err error) {
	synctest.Test(t, func(*testing.T) { err = f() })
	return err
}

// pairs are the combinations of clients and servers. most is the server's largest grant.
var pairs = []struct {
	name   string
	client func(most int) requester
	server func(most int) responder
}{
	{"this client and this server", ourClient, ourServer},
	{"strict client", func(int) requester { return &literalClient{limit: 1} }, ourServer},
	{"lax client", func(int) requester { return &literalClient{limit: 1, lax: true} }, ourServer},
	// With one receive it could not return read lists: the DONE and the next call need two.
	{"server with one receive for each credit", ourClient, func(most int) responder { return &literalServer{size: most + 1} }},
}

func ourClient(most int) requester { return &windowClient{Window: NewWindow(most)} }
func ourServer(most int) responder { return &granterServer{Granter: NewGranter(most)} }

// TestFlow: whatever is requested, granted, withheld, lowered, raised, fetched, given up, dropped
// or short of memory, no message arrives without a receive, and no call waits without a reason.
func TestFlow(t *testing.T) {
	for _, p := range pairs {
		t.Run(p.name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				ours, theirs := rapid.IntRange(1, 8).Draw(rt, "client's max"), rapid.IntRange(1,
					8).Draw(rt, "server's max")
				drops := rapid.Bool().Draw(rt, "calls are dropped")
				n := rapid.IntRange(0, 150).Draw(rt, "events")
				steps := rapid.SliceOfN(events, n, n).Draw(rt, "events")
				budget := rapid.IntRange(1, 6).Draw(rt, "replies in memory")
				if err := bubble(t, func() error {
					f := &flow{client: p.client(ours), server: p.server(theirs), budget: budget}
					if _, ok := f.server.(*literalServer); ok {
						drops = false
					}
					if !drops {
						steps = slices.DeleteFunc(steps, func(e event) bool { return e.kind == "drop" })
					}
					defer f.stop()
					return f.run(steps)
				}); err != nil {
					rt.Fatal(err)
				}
			})
		})
	}
}

// stop ends the goroutines of callers.
func (f *flow) stop() {
	if w, ok := f.client.(*windowClient); ok {
		w.Close(errGone)
		w.sort()
	}
}
