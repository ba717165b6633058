package credits

// Granter keeps a server's account of one connection. It is not safe for concurrent use:
// the connection guards it together with its receives.
//
// Replies must leave in the order of the calls of Reply. A client goes by the grant that it got
// last; were that not the one given last, it might find no receive, or no credit.
type Granter struct {
	max    int
	posted int // receives that calls and DONEs will use up
	active int // calls received and not answered
	owed   int // DONEs to come
	recent int // DONEs that came after the call that came last

	last struct { // of Reply, for NotPosted
		grant, least int // at least so much must be granted
		post, must   int // at least so many must be posted
	}
}

// NewGranter returns an account that grants max credits at most, which is positive; a few more
// where Reply says so.
func NewGranter(max int) Granter { return Granter{max: max} }

// Start returns the receives to post before the first call may arrive: one (draft section 6.1).
func (g *Granter) Start() int {
	g.posted++
	return 1
}

// CallReceived notes a call that has consumed a receive.
func (g *Granter) CallReceived() {
	g.posted--
	g.active++
	g.recent = 0
}

// WasNoCall takes back what CallReceived noted: it was no call.
func (g *Granter) WasNoCall() {
	g.posted++
	g.active--
}

// DoneReceived notes an RDMA_DONE that has consumed a receive, and reports whether one was owed. If
// not, the receive is not accounted for: it must be posted again.
func (g *Granter) DoneReceived() bool {
	if g.owed == 0 {
		return false
	}
	g.posted--
	g.owed--
	g.recent++
	return true
}

// CallDropped notes a call that gets no reply. The client keeps it among those under way, so
// nothing is posted in its place; a connection on which calls are dropped must end sooner or later.
func (g *Granter) CallDropped() { g.active-- }

// ReplyTerms is what the grant in a reply depends on.
type ReplyTerms struct {
	Requested uint32 // by the client in its call
	Allow     int    // by the server's memory
	// the reply has a read list: a DONE is to follow it; of these at most the maximum may be owed
	Owes bool
	// another reply of the connection is held back until DONEs come, and will bring a new grant
	Withheld bool
}

// Reply notes that a call is about to be answered. It returns the credits to grant and the receives
// to post before the reply is sent: in the steady state one, for the call that follows; two for a
// reply that a DONE answers.
//
// The grant is never zero (draft section 3.3), unless the grant of a withheld reply is certain to
// follow (section 11). If no call is left to be answered, it is one more than the DONEs that the
// client may still count as requests: nothing tells it that they have been taken until it has made
// another call. That goes above what was requested, allowed and set as the most, but to no more
// than that plus 2.
func (g *Granter) Reply(a ReplyTerms) (grant uint32, post int) {
	l := &g.last
	g.active--
	l.must = 0
	if a.Owes {
		// The client goes by an earlier grant until it has this one, and may use up with calls all
		// receives that are posted for that. The one for the DONE comes on top of them, however far
		// the grant is lowered.
		g.owed++
		l.must = 1
	}
	switch {
	case g.active == 0:
		l.least = min(1+g.owed+g.recent, g.max+2)
	case a.Withheld:
		l.least = 0
	default:
		l.least = 1
	}
	l.grant = max(l.least, min(g.max, a.Allow, int(min(a.Requested, 1<<30))))
	l.post = max(l.must, l.grant-g.room())
	g.posted += l.post
	return uint32(l.grant), l.post
}

// room returns the largest grant that receives have been posted for.
func (g *Granter) room() int { return g.posted + g.active - g.owed }

// NotPosted notes that n of the receives that Reply asked for could not be posted, and returns the
// grant that is left. Zero says that too few are: the connection must end, as a message would find
// no receive, or the client no credit.
func (g *Granter) NotPosted(n int) (grant uint32) {
	l := &g.last
	g.posted -= n
	left := min(l.grant, g.room())
	if left < l.least || l.post-n < l.must {
		return 0
	}
	return uint32(left)
}

// State returns the receives posted for calls and DONEs, the calls not answered, and the DONEs to
// come.
func (g *Granter) State() (posted, active, owed int) { return g.posted, g.active, g.owed }
