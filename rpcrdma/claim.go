package rpcrdma

// claim is what a host that waits for memory has, and asks for next.
type claim struct {
	has     int64  // bytes
	need    int64  // bytes, for what has waited longest of all that may go on
	arrival uint64 // of that
	ordinal int    // its place among the hosts that wait
}

func (c *claim) place() *int { return &c.ordinal }

// waits reports whether the host waits.
func (c *claim) waits() bool { return c.ordinal > 0 }

// precedes reports whether a host is served before another. Hosts that have nothing come first, in
// the order of arrival: what becomes free is kept until the first of them has got what it needs. Of
// the others that comes first which needs the least to be free (fair.Fits). So if its claim does
// not fit, no other's does; and of hosts that need the same it is the one that has the least.
func (c *claim) precedes(o *claim) bool {
	if c.has == 0 || o.has == 0 {
		return c.has == 0 && (o.has > 0 || c.arrival < o.arrival)
	}
	if c, o := c.has+2*c.need, o.has+2*o.need; c != o {
		return c < o
	}
	return c.arrival < o.arrival
}
