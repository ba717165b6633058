package credits

import (
	"context"
	"testing"

	"pgregory.net/rapid"
)

// flow is a client's window and a server's account, with a connection between them that keeps
// messages in order and takes its time.
type flow struct {
	client *Window
	server Granter

	calls   int      // on their way to the server
	replies []uint32 // grants on their way to the client
	dropped int      // calls that get no reply
	last    int      // grant
	ended   bool     // the server had to
}

// noWait is a context that has ended: Acquire takes a credit if one is free.
var noWait = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

func (f *flow) send() bool {
	if _, err := f.client.Acquire(noWait); err != nil {
		return false
	}
	f.calls++
	return true
}

func (f *flow) receive(t *rapid.T) {
	f.calls--
	if posted, _ := f.server.State(); posted == 0 {
		t.Fatal("a call finds no posted receive")
	}
	f.server.Received()
}

func (f *flow) reply(requested uint32, allow, short int) {
	grant, post := f.server.Reply(requested, allow)
	if short = min(short, post); short > 0 {
		grant = f.server.Short(short)
	}
	if grant == 0 {
		f.ended = true
		return
	}
	f.last = int(grant)
	f.replies = append(f.replies, grant)
}

func (f *flow) deliver() {
	f.client.Release(f.replies[0])
	f.replies = f.replies[1:]
}

func (f *flow) check(t *rapid.T) {
	posted, active := f.server.State()
	limit, inflight, _ := f.client.State()
	if posted < 0 || active < 0 || inflight < 0 {
		t.Fatalf("%d posted, %d active, %d in flight", posted, active, inflight)
	}
	if inflight != f.calls+active+len(f.replies)+f.dropped {
		t.Fatalf("%d in flight: %d + %d + %d + %d", inflight, f.calls, active, len(f.replies), f.dropped)
	}
	if posted+active+f.dropped < f.last {
		t.Fatalf("%d posted, %d active, %d dropped, but %d granted", posted, active, f.dropped, f.last)
	}
	// Whatever the client may do before it hears more.
	if more := max(0, limit-inflight); posted < f.calls+more {
		t.Fatalf("%d posted for %d calls on their way and %d that may follow", posted, f.calls, more)
	}
}

// event is a step of one of the two sides, or of the connection.
type event struct {
	kind      string
	requested uint32
	allow     int
	short     int // receives that cannot be posted
}

// Whatever is requested, granted, lowered, raised, short of memory or dropped, no call arrives
// without a receive, and a client whose calls are all answered can call again.
func TestFlow(t *testing.T) {
	events := rapid.SliceOf(rapid.Custom(func(t *rapid.T) event {
		return event{
			kind:      rapid.SampledFrom([]string{"call", "call", "call arrives", "answer", "reply arrives", "drop"}).Draw(t, "kind"),
			requested: rapid.Uint32Range(0, 16).Draw(t, "requested"),
			allow:     rapid.IntRange(-3, 16).Draw(t, "allow"),
			short:     max(0, rapid.IntRange(-12, 12).Draw(t, "short")),
		}
	}))
	rapid.Check(t, func(t *rapid.T) {
		f := &flow{
			client: NewWindow(rapid.IntRange(1, 12).Draw(t, "client's max")),
			server: NewGranter(rapid.IntRange(1, 12).Draw(t, "server's max")),
			last:   1,
		}
		if n := f.server.Start(); n != 1 {
			t.Fatalf("%d receives to begin with", n)
		}
		drops := rapid.Bool().Draw(t, "calls are dropped")
		for _, e := range events.Draw(t, "events") {
			_, active := f.server.State()
			switch {
			case e.kind == "call":
				f.send()
			case e.kind == "call arrives" && f.calls > 0:
				f.receive(t)
			case e.kind == "answer" && active > 0:
				f.reply(e.requested, e.allow, e.short)
			case e.kind == "reply arrives" && len(f.replies) > 0:
				f.deliver()
			case e.kind == "drop" && active > 0 && drops:
				f.server.Dropped()
				f.dropped++
			}
			if f.ended {
				return
			}
			f.check(t)
		}
		if f.dropped > 0 {
			return
		}
		// Progress: all that is under way comes to its end, and then there is a credit.
		for f.calls > 0 {
			f.receive(t)
		}
		for _, active := f.server.State(); active > 0; active-- {
			f.reply(0, 0, 0)
		}
		for len(f.replies) > 0 {
			f.deliver()
		}
		f.check(t)
		if !f.send() {
			t.Fatal("nothing is under way, and no credit is left")
		}
		f.receive(t)
	})
}
