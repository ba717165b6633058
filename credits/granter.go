package credits

// Granter keeps a server's account of one connection. It is not safe for concurrent use:
// the connection guards it together with its receives.
//
// Invariant: the last grant is at most posted - owed + active + dropped, so that a client which keeps
// within it finds a receive for each call, beside those for its DONEs.
type Granter struct {
	max    int
	posted int // receives that calls and DONEs will consume
	active int // calls received and not answered
	owed   int // DONEs to come
}

// NewGranter returns an account that grants max credits at most.
func NewGranter(max int) Granter { return Granter{max: max} }

// Start returns the receives to post before the first call may arrive: one (draft section 6.1).
func (g *Granter) Start() int {
	g.posted++
	return 1
}

// Received notes a call that has consumed a receive.
func (g *Granter) Received() {
	g.posted--
	g.active++
}

// Done notes an RDMA_DONE that has consumed a receive, and reports whether one was owed. If not, the receive is not
// accounted for: it must be posted again.
func (g *Granter) Done() bool {
	if g.owed == 0 {
		return false
	}
	g.posted--
	g.owed--
	return true
}

// Dropped notes a call that gets no reply. The client keeps it among those under way, so nothing is
// posted in its place; a connection on which calls are dropped must end sooner or later.
func (g *Granter) Dropped() { g.active-- }

// Answer is what the grant in a reply depends on.
type Answer struct {
	Requested uint32 // by the client in its call
	Allow     int    // by the server's memory
	Owes      bool   // the reply has a read list: a DONE is to follow it
	Withheld  bool   // another reply of the connection is held back until DONEs come, and will bring a new grant
}

// Reply notes that a call is about to be answered. It returns the credits to
// grant and the receives to post before the reply is sent: two for each reply that
// is answered by a DONE, one for that and one for the call that follows it. At least one credit is granted, lest the
// client could never call again, unless the grant of a withheld reply is certain to follow (draft section 11).
func (g *Granter) Reply(a Answer) (grant uint32, post int) {
	g.active--
	if a.Owes {
		g.owed++
	}
	least := 1
	if a.Withheld {
		least = 0
	}
	n := max(least, min(g.max, a.Allow, int(min(a.Requested, 1<<30))))
	post = max(0, n+g.owed-g.posted-g.active)
	g.posted += post
	return uint32(n), post
}

// Short notes that n receives of those that Reply asked for could not be posted, and returns
// the grant that is left. When that is zero the connection must end: the client's next call, or its DONE, would find no receive.
func (g *Granter) Short(n int) (grant uint32) {
	g.posted -= n
	return uint32(max(0, g.posted+g.active-g.owed))
}

// State returns the receives posted for calls and DONEs, the calls not answered, and the DONEs to come.
func (g *Granter) State() (posted, active, owed int) { return g.posted, g.active, g.owed }
