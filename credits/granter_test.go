package credits

import (
	"math"
	"testing"
)

// served is one step of a server with at most 8 credits, and the resulting state.
type served struct {
	what   string // "call", "DONE", "drop", "reply"
	answer ReplyTerms
	grant  uint32
	post   int
	posted int
	active int
	owed   int
}

func received(posted, active, owed int) served {
	return served{what: "call", posted: posted, active: active, owed: owed}
}

func done(posted, active, owed int) served {
	return served{what: "DONE", posted: posted, active: active, owed: owed}
}

func drop(posted, active int) served {
	return served{what: "drop", posted: posted, active: active}
}

func reply(requested uint32, allow int, grant uint32, post, posted, active int) served {
	return served{"reply", ReplyTerms{Requested: requested, Allow: allow}, grant, post, posted, active, 0}
}

// owes is a reply with a read list, when 64 are requested.
func owes(allow int, grant uint32, post, posted, active, owed int) served {
	return served{"reply", ReplyTerms{Requested: 64, Allow: allow, Owes: true}, grant, post, posted, active, owed}
}

// plain is a reply without, while DONEs are owed.
func plain(allow int, grant uint32, post, posted, active, owed int) served {
	return served{"reply", ReplyTerms{Requested: 64, Allow: allow}, grant, post, posted, active, owed}
}

// held is one while another reply is withheld.
func held(allow int, grant uint32, post, posted, active, owed int) served {
	return served{"reply", ReplyTerms{Requested: 64, Allow: allow, Withheld: true}, grant, post, posted, active, owed}
}

func TestGranter(t *testing.T) {
	tests := []struct {
		name  string
		steps []served
	}{
		{"the first reply opens the window", []served{
			received(0, 1, 0), reply(64, 64, 8, 8, 8, 0),
		}},
		{"afterwards one is posted for each reply", []served{
			received(0, 1, 0), reply(64, 64, 8, 8, 8, 0),
			received(7, 1, 0), reply(64, 64, 8, 1, 8, 0),
			received(7, 1, 0), received(6, 2, 0), reply(64, 64, 8, 1, 7, 1), reply(64, 64, 8, 1, 8, 0),
		}},
		{"no more than requested", []served{
			received(0, 1, 0), reply(3, 64, 3, 3, 3, 0),
		}},
		{"no more than memory allows", []served{
			received(0, 1, 0), reply(64, 5, 5, 5, 5, 0),
		}},
		{"none requested counts as one", []served{
			received(0, 1, 0), reply(0, 64, 1, 1, 1, 0),
		}},
		{"no memory grants one all the same", []served{
			received(0, 1, 0), reply(64, 0, 1, 1, 1, 0), received(0, 1, 0), reply(64, -3, 1, 1, 1, 0),
		}},
		{"none requested, or no memory, while another call is under way", []served{
			received(0, 1, 0), reply(64, 3, 3, 3, 3, 0), received(2, 1, 0), received(1, 2, 0), received(0, 3, 0),
			reply(0, 64, 1, 0, 0, 2), reply(64, 0, 1, 0, 0, 1), reply(64, -2, 1, 1, 1, 0),
		}},
		{"request of 32 bits", []served{
			received(0, 1, 0), reply(math.MaxUint32, math.MaxInt, 8, 8, 8, 0),
		}},
		{"lowered: nothing is posted until the receives are used up", []served{
			received(0, 1, 0), reply(64, 64, 8, 8, 8, 0),
			received(7, 1, 0), received(6, 2, 0), reply(2, 64, 2, 0, 6, 1), reply(2, 64, 2, 0, 6, 0),
			received(5, 1, 0), received(4, 2, 0), received(3, 3, 0), received(2, 4, 0), received(1, 5, 0),
			reply(2, 64, 2, 0, 1, 4), received(0, 5, 0), reply(2, 64, 2, 0, 0, 4),
			reply(2, 64, 2, 0, 0, 3), reply(2, 64, 2, 0, 0, 2), reply(2, 64, 2, 1, 1, 1), reply(2, 64, 2, 1, 2, 0),
		}},
		{"raised: calls under way count as posted", []served{
			received(0, 1, 0), reply(2, 64, 2, 2, 2, 0),
			received(1, 1, 0), received(0, 2, 0), reply(8, 64, 8, 7, 7, 1), reply(8, 64, 8, 1, 8, 0),
		}},
		{"a dropped call posts nothing", []served{
			received(0, 1, 0), reply(64, 64, 8, 8, 8, 0),
			received(7, 1, 0), received(6, 2, 0), drop(6, 1), reply(64, 64, 8, 2, 8, 0),
		}},
		{"a DONE has a receive beside those for calls", []served{
			received(0, 1, 0), owes(64, 8, 9, 9, 0, 1),
			received(8, 1, 1), owes(64, 8, 2, 10, 0, 2),
			done(9, 0, 1), done(8, 0, 0),
			received(7, 1, 0), reply(64, 64, 8, 1, 8, 0),
		}},
		{"lowered, with a DONE to come: the client may have used up the receives with calls", []served{
			received(0, 1, 0), reply(64, 64, 8, 8, 8, 0),
			received(7, 1, 0), owes(2, 2, 1, 8, 0, 1),
			received(7, 1, 1), received(6, 2, 1), received(5, 3, 1), received(4, 4, 1), received(3, 5, 1), received(2, 6, 1), received(1, 7, 1),
			done(0, 7, 0),
		}},
		{"one more than the DONEs that a client may still count", []served{
			received(0, 1, 0), owes(1, 2, 3, 3, 0, 1), // a DONE to come
			// the call acknowledges the DONE before it
			done(2, 0, 0), received(1, 1, 0), owes(1, 2, 2, 3, 0, 1),
			received(2, 1, 1), done(1, 1, 0), plain(1, 2, 1, 2, 0, 0), // but not the one behind it
			received(1, 1, 0), plain(1, 1, 0, 1, 0, 0),
		}},
		{"not while another call will be answered", []served{
			received(0, 1, 0), reply(64, 2, 2, 2, 2, 0), received(1, 1, 0), received(0, 2, 0),
			owes(1, 1, 1, 1, 1, 1), owes(1, 3, 4, 5, 0, 2),
		}},
		{"zero while a reply is withheld", []served{
			received(0, 1, 0), reply(64, 3, 3, 3, 3, 0), received(2, 1, 0), received(1, 2, 0), received(0, 3, 0),
			owes(3, 3, 2, 2, 2, 1), held(0, 0, 0, 2, 1, 1), done(1, 1, 0), plain(3, 3, 2, 3, 0, 0),
		}},
		{"what memory allows while a reply is withheld", []served{
			received(0, 1, 0), reply(64, 3, 3, 3, 3, 0), received(2, 1, 0), received(1, 2, 0),
			held(2, 2, 0, 1, 1, 0), plain(0, 1, 0, 1, 0, 0),
		}},
		{"never zero when no call is left", []served{
			received(0, 1, 0), held(0, 1, 1, 1, 0, 0),
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := NewGranter(8)
			if n := g.Start(); n != 1 {
				t.Fatalf("Start() = %d, want 1", n)
			}
			for i, s := range tt.steps {
				switch s.what {
				case "call":
					g.CallReceived()
				case "DONE":
					if !g.DoneReceived() {
						t.Errorf("step %d: Done() = false", i)
					}
				case "drop":
					g.CallDropped()
				case "reply":
					grant, post := g.Reply(s.answer)
					if grant != s.grant || post != s.post {
						t.Errorf("step %d: Reply(%+v) = %d, %d, want %d, %d", i, s.answer, grant, post, s.grant, s.post)
					}
				}
				if posted, active, owed := g.State(); posted != s.posted || active != s.active || owed != s.owed {
					t.Errorf("step %d, %s: State() = %d, %d, %d, want %d, %d, %d", i, s.what, posted, active, owed, s.posted, s.active, s.owed)
				}
			}
		})
	}
}

// An RDMA_DONE that is not owed changes nothing: its receive must be posted again.
func TestGranterDoneNotOwed(t *testing.T) {
	g := NewGranter(8)
	g.Start()
	g.CallReceived()
	g.Reply(ReplyTerms{Requested: 8, Allow: 8, Owes: true})
	if !g.DoneReceived() {
		t.Error("Done() = false, want true")
	}
	for range 100 {
		if g.DoneReceived() {
			t.Error("Done() = true, want false")
		}
	}
	if posted, active, owed := g.State(); posted != 8 || active != 0 || owed != 0 {
		t.Errorf("State() = %d, %d, %d, want 8, 0, 0", posted, active, owed)
	}
	g.CallReceived()
	if grant, post := g.Reply(ReplyTerms{Requested: 1, Allow: 1}); grant != 1 || post != 0 {
		t.Errorf("Reply() = %d, %d, want 1, 0", grant, post)
	}
}

// TestGranterWasNoCall: a message that was taken for a call, but was none, changes nothing.
func TestGranterWasNoCall(t *testing.T) {
	g := NewGranter(8)
	g.Start()
	g.CallReceived()
	g.Reply(ReplyTerms{Requested: 8, Allow: 8})
	g.CallReceived()
	g.CallReceived()
	g.WasNoCall()
	if posted, active, owed := g.State(); posted != 7 || active != 1 || owed != 0 {
		t.Errorf("State() = %d, %d, %d, want 7, 1, 0", posted, active, owed)
	}
	if grant, post := g.Reply(ReplyTerms{Requested: 8, Allow: 8}); grant != 8 || post != 1 {
		t.Errorf("Reply() = %d, %d, want 8, 1", grant, post)
	}
}

// TestGranterFull: if a client makes any number of calls and never sends a DONE, the receives are
// bounded.
func TestGranterFull(t *testing.T) {
	const most = 4
	g := NewGranter(most)
	g.Start()
	for range 1000 {
		g.CallReceived()
		owes := !full(&g)
		g.Reply(ReplyTerms{Requested: 64, Allow: 64, Owes: owes})
	}
	posted, _, owed := g.State()
	if owed != most || posted > 2*most+2 {
		t.Errorf("%d receives posted, %d DONEs owed, want at most %d and %d", posted, owed, 2*most+2, most)
	}
	for range most {
		if !full(&g) || !g.DoneReceived() || full(&g) {
			t.Fatal("a DONE does not make room")
		}
		g.CallReceived()
		g.Reply(ReplyTerms{Requested: 64, Allow: 64, Owes: true})
	}
}

// A client that makes calls without counting its RDMA_DONEs does not drive the grant up.
func TestGranterLax(t *testing.T) {
	const most = 4
	g := NewGranter(most)
	g.Start()
	grant := uint32(1)
	for range 100 {
		n := int(grant)
		for range n {
			g.CallReceived()
		}
		for i := range n {
			grant, _ = g.Reply(ReplyTerms{Requested: 64, Allow: 64, Owes: true})
			if i < n-1 {
				g.DoneReceived()
			}
		}
		if grant > most+2 {
			t.Fatalf("%d granted, %d are the most", grant, most+2)
		}
		g.DoneReceived()
	}
	if grant != most+2 {
		t.Errorf("%d granted in the end, want %d", grant, most+2)
	}
}

func TestGranterNotPosted(t *testing.T) {
	tests := []struct {
		name   string
		others int // calls under way beside the one answered
		answer ReplyTerms
		grant  uint32
		post   int
		short  int
		want   uint32
	}{
		{"one of eight", 0, ReplyTerms{}, 8, 8, 1, 7},
		{"seven of eight", 0, ReplyTerms{}, 8, 8, 7, 1},
		{"all, and another call is under way", 1, ReplyTerms{}, 8, 7, 7, 1},
		{"all: the next call would find no receive", 0, ReplyTerms{}, 8, 8, 8, 0},
		{"one, with a DONE to come", 0, ReplyTerms{Owes: true}, 8, 9, 1, 7},
		{"two left beside the DONE: the client may count it", 0, ReplyTerms{Owes: true}, 8, 9, 6, 2},
		{"one left beside the DONE: the client that counts it is stuck", 0, ReplyTerms{Owes: true}, 8, 9, 7, 0},
		{"all, with a DONE to come, and other calls are under way", 5, ReplyTerms{Owes: true}, 8, 4, 4, 0},
		{"all but that of the DONE, and other calls are under way", 5, ReplyTerms{Owes: true}, 8, 4, 3, 5},
		{"zero granted, and all posted for the DONE", 1, ReplyTerms{Owes: true, Withheld: true, Allow: -8}, 0, 1, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := NewGranter(8)
			g.Start()
			g.CallReceived()
			if tt.others > 0 { // let the client have as many receives as it needs for these
				g.Reply(ReplyTerms{Requested: uint32(1 + tt.others), Allow: 8})
				for range 1 + tt.others {
					g.CallReceived()
				}
			}
			tt.answer.Requested = 8
			tt.answer.Allow += 8
			grant, post := g.Reply(tt.answer)
			if grant != tt.grant || post != tt.post {
				t.Fatalf("Reply() = %d, %d, want %d, %d", grant, post, tt.grant, tt.post)
			}
			if got := g.NotPosted(tt.short); got != tt.want {
				t.Errorf("NotPosted(%d) = %d, want %d", tt.short, got, tt.want)
			}
		})
	}
}

// The receives that a lowered grant leaves over do not raise it when others cannot be posted.
func TestGranterNotPostedLowered(t *testing.T) {
	g := NewGranter(8)
	g.Start()
	g.CallReceived()
	g.Reply(ReplyTerms{Requested: 8, Allow: 8})
	g.CallReceived()
	if grant, post := g.Reply(ReplyTerms{Requested: 3, Allow: 8, Owes: true}); grant != 3 || post != 1 {
		t.Fatalf("Reply() = %d, %d, want 3, 1", grant, post)
	}
	if got := g.NotPosted(0); got != 3 {
		t.Errorf("NotPosted(0) = %d, want 3", got)
	}
	if got := g.NotPosted(1); got != 0 { // the client may have used up the receives with calls
		t.Errorf("NotPosted(1) = %d, want 0", got)
	}
}
