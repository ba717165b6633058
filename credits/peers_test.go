package credits

import (
	"context"
	"slices"
	"testing/synctest"
)

// requester is a client.
type requester interface {
	want()             // one more call
	giveUp(i int)      // one of the calls that wait
	ready() int        // calls that have a credit and have not been sent
	take(i int) Credit // one of them
	cancel(c Credit)
	release(c Credit, grant uint32)
	grant(c Credit, grant uint32)
	done(c Credit)
	state() (limit, calls, dones, waiting int)
	// may is how many calls may begin before more is heard, by the rules that this client keeps.
	may() int
}

// windowClient is this package's client, a Window.
type windowClient struct {
	*Window
	waits, holds []*caller
}

func (w *windowClient) want() {
	w.waits = append(w.waits, call(w.Window, 0))
	w.sort()
}

// sort finds the calls that have got a credit.
func (w *windowClient) sort() {
	synctest.Wait()
	w.waits = slices.DeleteFunc(w.waits, func(c *caller) bool {
		if c.done && c.err == nil {
			w.holds = append(w.holds, c)
		}
		return c.done
	})
}

func (w *windowClient) giveUp(i int) {
	if len(w.waits) > 0 {
		w.waits[i%len(w.waits)].cancel()
		w.sort()
	}
}

func (w *windowClient) ready() int { return len(w.holds) }

func (w *windowClient) take(i int) Credit {
	c := w.holds[i]
	w.holds = slices.Delete(w.holds, i, i+1)
	return c.credit
}

func (w *windowClient) cancel(c Credit)                { w.ReleaseUnsent(); w.sort() }
func (w *windowClient) release(c Credit, grant uint32) { w.Release(c, grant); w.sort() }
func (w *windowClient) grant(c Credit, grant uint32)   { w.NoteGrant(c, grant); w.sort() }
func (w *windowClient) done(c Credit)                  { w.DoneSent(); w.sort() }

func (w *windowClient) state() (limit, calls, dones, waiting int) { return w.State() }

func (w *windowClient) may() int {
	limit, calls, dones, _ := w.State()
	if calls == 0 {
		return max(1, limit-dones)
	}
	return max(0, limit-calls-dones)
}

// literalClient is a client with another reading of the draft. A strict one counts a DONE as an
// unanswered request until the reply to a later call. So it sends nothing once these fill the
// grant, even with no call under way. A lax one does not count DONEs.
type literalClient struct {
	lax     bool
	limit   int
	calls   int
	sent    uint64
	dones   []uint64 // sent, when each was
	waiting int
	holds   int
}

func (l *literalClient) may() int {
	n := l.calls
	if !l.lax {
		n += len(l.dones)
	}
	if n == 0 {
		return max(1, l.limit)
	}
	return max(0, l.limit-n)
}

func (l *literalClient) wake() {
	for l.waiting > 0 && l.may() > 0 {
		l.waiting--
		l.calls++
		l.holds++
	}
}

func (l *literalClient) want() {
	l.waiting++
	l.wake()
}

func (l *literalClient) giveUp(int) { l.waiting = max(0, l.waiting-1) }

func (l *literalClient) ready() int { return l.holds }

func (l *literalClient) take(int) Credit {
	l.holds--
	l.sent++
	return Credit{number: l.sent}
}

func (l *literalClient) cancel(Credit) {
	l.calls--
	l.wake()
}

func (l *literalClient) release(c Credit, grant uint32) {
	l.calls--
	l.grant(c, grant)
}

func (l *literalClient) grant(c Credit, grant uint32) {
	l.limit = int(grant)
	l.dones = slices.DeleteFunc(l.dones, func(sent uint64) bool { return sent < c.number })
	l.wake()
}

func (l *literalClient) done(Credit) {
	l.calls--
	l.dones = append(l.dones, l.sent)
	l.wake()
}

func (l *literalClient) state() (limit, calls, dones, waiting int) {
	return l.limit, l.calls, len(l.dones), l.waiting
}

// responder is a server.
type responder interface {
	start() int
	received()
	done() bool
	dropped()
	full(withheld bool) bool // a reply with a read list has to wait
	// reply is told how many receives cannot be posted, and reports false if the connection must
	// end.
	reply(a ReplyTerms, short int) (grant int, ok bool)
	posted() int
	// receives that are posted, or used up by calls under way, while so many DONEs are to come
	most(owed int) int
}

// granterServer is this package's server, a Granter, which also counts the receives itself.
type granterServer struct {
	Granter
	receives, owes int
}

func (g *granterServer) start() int {
	n := g.Start()
	g.receives += n
	return n
}

func (g *granterServer) received() {
	g.receives--
	g.CallReceived()
}

func (g *granterServer) done() bool {
	g.receives--
	g.owes--
	return g.DoneReceived()
}

func (g *granterServer) dropped()       { g.CallDropped() }
func (g *granterServer) full(bool) bool { return g.owes >= g.max }

func (g *granterServer) reply(a ReplyTerms, short int) (int, bool) {
	grant, post := g.Reply(a)
	if a.Owes {
		g.owes++
	}
	if short = min(short, post); short > 0 {
		grant = g.NotPosted(short)
		g.receives += post - short
		return int(grant), grant > 0
	}
	g.receives += post
	return int(grant), true
}

func (g *granterServer) posted() int       { return g.receives }
func (g *granterServer) most(owed int) int { return g.max + 2 + owed }

// full reports whether as many DONEs are owed as may be.
func full(g *Granter) bool { return g.owed >= g.max }

// literalServer is a server with as many receives as credits, for calls and DONEs alike. It posts
// each again once it has dealt with the message, and expects DONEs to use up the grant (draft
// section 11).
type literalServer struct {
	size, active, owed int
}

func (s *literalServer) start() int   { return s.size }
func (s *literalServer) received()    { s.active++ }
func (s *literalServer) posted() int  { return s.size - s.active }
func (s *literalServer) most(int) int { return s.size }
func (s *literalServer) dropped()     { panic("a tight server answers all calls") }

func (s *literalServer) done() bool {
	s.owed--
	return s.owed >= 0
}

func (s *literalServer) full(withheld bool) bool {
	if withheld {
		return s.owed >= s.size
	}
	return s.owed >= s.size-1
}

func (s *literalServer) reply(a ReplyTerms, _ int) (int, bool) {
	s.active--
	if a.Owes {
		s.owed++
	}
	least := 1
	if a.Withheld {
		least = 0
	}
	return max(least, min(s.size-s.owed, a.Allow, int(a.Requested))), true
}

// noWait is a context that has ended: Acquire takes a credit if one is free.
var noWait = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()
