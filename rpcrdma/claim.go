package rpcrdma

// claim is the position of a host that waits for memory.
type claim struct {
	has     int64  // bytes that the host has
	need    int64  // bytes that its next request needs
	arrival uint64 // when that request came
	ordinal int    // the host's place among those that wait; 0: it does not wait
}

func (c *claim) place() *int { return &c.ordinal }

// waits reports whether the host waits.
func (c *claim) waits() bool { return c.ordinal > 0 }

// precedes reports whether a host is served before another one.
//
// Hosts that have nothing come first, in order of arrival. What becomes free is kept until it
// suffices for the first of them. Among other hosts, the one that needs the least free memory
// (fair.Fits) comes first. So if its request does not fit, no other does. If two hosts ask for the
// same, that is the one that has less.
func (c *claim) precedes(o *claim) bool {
	if c.has == 0 || o.has == 0 {
		return c.has == 0 && (o.has > 0 || c.arrival < o.arrival)
	}
	if c, o := c.has+2*c.need, o.has+2*o.need; c != o {
		return c < o
	}
	return c.arrival < o.arrival
}
