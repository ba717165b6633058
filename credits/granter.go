package credits

// Granter keeps a server's account of one connection. It is not safe for concurrent use:
// the connection guards it together with its receives.
//
// Invariant: the last grant is at most posted + active + dropped, so that a client which keeps
// within it finds a receive for each call.
type Granter struct {
	max    int
	posted int // receives that calls will consume
	active int // calls received and not answered
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

// Dropped notes a call that gets no reply. The client keeps it among those under way, so nothing is
// posted in its place; a connection on which calls are dropped must end sooner or later.
func (g *Granter) Dropped() { g.active-- }

// Reply notes that a call is about to be answered. It returns the credits to
// grant and the receives to post before the reply is sent. The client asked for
// requested, and the server's memory allows allow; at least one is granted, lest the
// client could never call again.
func (g *Granter) Reply(requested uint32, allow int) (grant uint32, post int) {
	g.active--
	n := max(1, min(g.max, allow, int(min(requested, 1<<30))))
	post = max(0, n-g.posted-g.active)
	g.posted += post
	return uint32(n), post
}

// Short notes that n receives of those that Reply asked for could not be posted, and returns
// the grant that is left. When that is zero the connection must end: a client takes zero
// for one, and its next call would find no receive.
func (g *Granter) Short(n int) (grant uint32) {
	g.posted -= n
	return uint32(g.posted + g.active)
}

// State returns the receives posted for calls and the calls not answered.
func (g *Granter) State() (posted, active int) { return g.posted, g.active }
