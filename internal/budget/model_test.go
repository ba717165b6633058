package budget

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// model is a Budget that looks at everything every time.
type model struct {
	size, free int64
	limit      int64
	hosts      []int // of the connections
	connHas    []int64
	hostHas    map[int]int64
	blocked    []bool
	waiting    []*call // in order of arrival
}

func (m *model) charge(conn int, n, taken int64) {
	m.free -= taken
	m.connHas[conn] += n
	m.hostHas[m.hosts[conn]] += n
}

func (m *model) has(conn int) int64 { return m.hostHas[m.hosts[conn]] }

// room reports whether n bytes more fit for the host of a connection.
func (m *model) room(conn int, n int64) bool {
	if m.has(conn) == 0 {
		return n <= m.free || m.free == m.size
	}
	return n <= m.free && m.has(conn)+n <= m.free-n
}

// starved returns, in order of arrival, what waits and is not held up by its own connection: the
// first of each.
func (m *model) starved() (all []*call) {
	seen := make(map[int]bool)
	for _, c := range m.waiting {
		if !seen[c.conn] && !m.blocked[c.conn] && m.connHas[c.conn]+c.n <= m.limit {
			all = append(all, c)
		}
		seen[c.conn] = true
	}
	return all
}

// behind reports whether others come before a new request of a connection.
func (m *model) behind(conn int) bool {
	others := func(c *call) bool { return c.conn != conn && m.hosts[c.conn] == m.hosts[conn] }
	if slices.ContainsFunc(m.starved(), others) {
		return true
	}
	poor := slices.DeleteFunc(m.starved(), func(c *call) bool { return m.has(c.conn) > 0 })
	return len(poor) > 0 && m.hosts[poor[0].conn] != m.hosts[conn]
}

// fits reports whether n bytes more fit for a connection, and no others wait for them.
func (m *model) fits(conn int, n int64) bool {
	return m.connHas[conn]+n <= m.limit && m.room(conn, n) && !m.behind(conn)
}

// waits returns how many requests of a connection wait.
func (m *model) waits(conn int) (n int) {
	for _, c := range m.waiting {
		if c.conn == conn {
			n++
		}
	}
	return n
}

// next returns the call that is granted its memory now, or nil.
func (m *model) next() (next *call) {
	var firsts []*call
	seen := make(map[int]bool)
	for _, c := range m.starved() {
		if h := m.hosts[c.conn]; !seen[h] {
			seen[h] = true
			firsts = append(firsts, c)
		}
	}
	for _, c := range firsts {
		if m.has(c.conn) == 0 { // others must not take the memory that it waits for
			if m.room(c.conn, c.n) {
				return c
			}
			return nil
		}
	}
	for _, c := range firsts {
		if m.room(c.conn, c.n) && (next == nil || m.has(c.conn)+2*c.n < m.has(next.conn)+2*next.n) {
			next = c
		}
	}
	return next
}

// serve returns what is granted its memory, in this order.
func (m *model) serve() (granted []*call) {
	for c := m.next(); c != nil; c = m.next() {
		m.waiting = slices.DeleteFunc(m.waiting, func(o *call) bool { return o == c })
		m.charge(c.conn, c.n, c.n)
		granted = append(granted, c)
	}
	return granted
}

// holding is memory that a connection has.
type holding struct {
	*call
	beyond int64
	queued bool // its request has waited
}

// The budget against the model: connections ask, wait, give back and leave at random.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Int64Range(3, 20).Draw(t, "limit of a connection")
		size := rapid.Int64Range(limit*3/4, 60).Draw(t, "size") // small, so that many are equal
		hosts := []int{1, 1, 2, 2, 3}
		m := &model{
			size: size, free: size, limit: limit, hosts: hosts, hostHas: make(map[int]int64),
			connHas: make([]int64, len(hosts)), blocked: make([]bool, len(hosts)),
		}
		r := newRig(size, limit, hosts...)
		left := make([]bool, len(hosts))
		var held []holding
		last := 0

		goOn := func(what string, next []*call) {
			want := m.serve()
			if d := diff(ids(want), ids(next)); d != "" {
				t.Fatalf("%s: granted (-want +got):\n%s", what, d)
			}
			for _, c := range next {
				held = append(held, holding{c, 0, true})
			}
		}
		release := func(i int) {
			h := held[i]
			held = slices.Delete(held, i, i+1)
			s := r.shares[h.conn]
			m.charge(h.conn, -h.n, h.beyond-h.n)
			if h.queued && rapid.Bool().Draw(t, "cancel") {
				goOn("cancel what was granted", s.Cancel(&h.Request))
				return
			}
			if n := s.Granted(&h.Request); h.queued && n != h.n {
				t.Fatalf("granted %d, want %d", n, h.n)
			}
			goOn("release", s.Release(h.n, h.beyond))
		}
		step := func(conn int, c *call) {
			s, taken := r.shares[conn], c.n
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			default:
				granted := m.waits(conn) == 0 && !m.blocked[conn] && m.fits(conn, c.n)
				if got := s.Reserve(&c.Request, c, c.n); got != granted {
					t.Fatalf("%d reserves %d: %v", conn, c.n, got)
				} else if !got {
					m.waiting = append(m.waiting, c)
					return
				}
			case 1:
				got := s.TryReserve(c.n)
				if want := m.waits(conn) == 0 && m.fits(conn, c.n); got != want {
					t.Fatalf("%d tries to reserve %d: %v", conn, c.n, got)
				} else if !got {
					return
				}
			case 2:
				s.Force(c.n)
			case 3:
				if !m.room(conn, c.n) || m.behind(conn) {
					taken = 0
				}
				if got := s.Exceed(c.n); got != c.n-taken {
					t.Fatalf("%d exceeds by %d, want %d", conn, got, c.n-taken)
				}
			case 4:
				m.blocked[conn] = !m.blocked[conn]
				goOn("block", s.Block(m.blocked[conn]))
				return
			case 5:
				if len(m.waiting) == 0 {
					return
				}
				i := rapid.IntRange(0, len(m.waiting)-1).Draw(t, "waiting call")
				c := m.waiting[i]
				if n := r.shares[c.conn].Granted(&c.Request); n != 0 {
					t.Fatalf("granted %d to what waits", n)
				}
				m.waiting = slices.Delete(m.waiting, i, i+1)
				goOn("cancel", r.shares[c.conn].Cancel(&c.Request))
				return
			case 6:
				if rapid.IntRange(0, 3).Draw(t, "leaves") > 0 {
					return
				}
				left[conn], m.blocked[conn] = true, false
				var want []*call
				m.waiting = slices.DeleteFunc(m.waiting, func(c *call) bool {
					if c.conn == conn {
						want = append(want, c)
					}
					return c.conn == conn
				})
				gone, next := s.Leave()
				if d := diff(ids(want), ids(gone)); d != "" {
					t.Fatalf("gone (-want +got):\n%s", d)
				}
				goOn("leave", next)
				return
			}
			m.charge(conn, c.n, taken)
			held = append(held, holding{c, c.n - taken, false})
		}

		for range rapid.IntRange(0, 80).Draw(t, "steps") {
			if len(held) > 0 && rapid.IntRange(0, 2).Draw(t, "gives back") == 0 {
				release(rapid.IntRange(0, len(held)-1).Draw(t, "holding"))
			} else if conn := rapid.IntRange(0, len(hosts)-1).Draw(t, "connection"); !left[conn] {
				last++
				n := rapid.Int64Range(1, limit).Draw(t, "bytes")
				step(conn, &call{id: last, conn: conn, n: n})
			}
			if r.Free() != m.free || r.Queued() != len(m.waiting) {
				t.Fatalf("%d free, %d queued, want %d, %d", r.Free(), r.Queued(), m.free,
					len(m.waiting))
			}
			n := rapid.Int64Range(1, limit).Draw(t, "bytes that may fit")
			for i, s := range r.shares {
				hostWaits := slices.ContainsFunc(m.starved(), func(c *call) bool {
					return hosts[c.conn] == hosts[i]
				})
				if s.Waiting() != m.waits(i) || s.HostWaits() != hostWaits ||
					s.Fits(n) != m.fits(i, n) || s.Scarce() != (m.free <= 0 || m.behind(i)) ||
					s.Short(n) != (m.free-m.has(i) < n || m.behind(i)) {
					t.Fatalf("%d: waiting %d, host waits %v, fits %v, scarce %v, short %v", i,
						s.Waiting(), s.HostWaits(), s.Fits(n), s.Scarce(), s.Short(n))
				}
			}
		}
		// Progress: when all is given back, nothing waits.
		for i, s := range r.shares {
			m.blocked[i] = false
			goOn("unblock", s.Block(false))
		}
		for len(held) > 0 {
			release(0)
		}
		if len(m.waiting) > 0 {
			t.Fatalf("%d wait in the end", len(m.waiting))
		}
		all := r.shares
		r.shares = nil
		for i, s := range all {
			if !left[i] {
				r.shares = append(r.shares, s)
			}
		}
		r.idle(t)
	})
}
