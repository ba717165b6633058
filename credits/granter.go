package credits

// Granter is a server's account of one connection: it decides what to grant, and how many receives
// to post. It is not safe for concurrent use. Its caller guards it with the same lock as its
// receives.
//
// Replies must leave in the order of the calls of Reply. A client uses the last grant that it got.
// If that were an older one, a message might find no receive, or the client no credit.
type Granter struct {
	max    int
	posted int // posted receives for calls and RDMA_DONEs
	active int // calls received and not answered
	owed   int // RDMA_DONEs to come
	recent int // RDMA_DONEs that came after the last call

	last struct { // of the last Reply, for NotPosted
		grant, least int // credits to grant, and how many of them are needed
		post, must   int // receives to post, and how many of them are needed
	}
}

// NewGranter returns an account that grants at most max credits, or a few more where Reply says so.
// max must be positive.
func NewGranter(max int) Granter { return Granter{max: max} }

// Start returns how many receives to post before the first call may arrive: one (draft section
// 6.1).
func (g *Granter) Start() int {
	g.posted++
	return 1
}

// CallReceived notes a call that has used up a receive.
func (g *Granter) CallReceived() {
	g.posted--
	g.active++
	g.recent = 0
}

// WasNoCall undoes a CallReceived: the message was not a call.
func (g *Granter) WasNoCall() {
	g.posted++
	g.active--
}

// DoneReceived notes an RDMA_DONE that has used up a receive, and reports whether one was owed. If
// not, the caller must post another receive for it.
func (g *Granter) DoneReceived() bool {
	if g.owed == 0 {
		return false
	}
	g.posted--
	g.owed--
	g.recent++
	return true
}

// CallDropped notes a call that gets no reply. The client still counts it as under way, so no
// receive is posted for another one. A connection with dropped calls must end sooner or later.
func (g *Granter) CallDropped() { g.active-- }

// ReplyTerms are what the grant in a reply depends on.
type ReplyTerms struct {
	Requested uint32 // credits that the client requested in its call
	Allow     int    // credits that the server's memory allows
	// Owes says that the reply has a read list, so that an RDMA_DONE will follow it. At most the
	// maximum may be owed at a time.
	Owes bool
	// Withheld says that another reply is withheld until RDMA_DONEs come. It will bring a new
	// grant.
	Withheld bool
}

// Reply notes that a call is about to be answered. It returns the credits to grant in the reply,
// and how many receives to post before it is sent. In the steady state that is one receive, for the
// next call; for a reply that an RDMA_DONE answers, two.
//
// The grant is zero only if the grant of a withheld reply is certain to follow (draft sections 3.3
// and 11).
//
// If no other call is left to be answered, the client may still count recent RDMA_DONEs as
// requests, until the reply to its next call. The grant is then at least one more than these, even
// if that is more than requested and allowed, but at most the maximum plus 2.
func (g *Granter) Reply(a ReplyTerms) (grant uint32, post int) {
	l := &g.last
	g.active--
	l.must = 0
	if a.Owes {
		// Until the client has this grant it uses an earlier one, and its calls may use up all the
		// receives posted for that. So the RDMA_DONE needs a receive beyond these, however far the
		// grant is lowered.
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

// room returns the largest grant for which receives have been posted.
func (g *Granter) room() int { return g.posted + g.active - g.owed }

// NotPosted notes that n of the receives that Reply asked for could not be posted. It returns the
// grant that remains. Zero means that the connection must end, because a message would find no
// receive, or the client no credit.
func (g *Granter) NotPosted(n int) (grant uint32) {
	l := &g.last
	g.posted -= n
	left := min(l.grant, g.room())
	if left < l.least || l.post-n < l.must {
		return 0
	}
	return uint32(left)
}

// State returns the number of receives posted for calls and RDMA_DONEs, of calls not answered, and
// of RDMA_DONEs to come.
func (g *Granter) State() (posted, active, owed int) { return g.posted, g.active, g.owed }
