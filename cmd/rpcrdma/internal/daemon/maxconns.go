package daemon

// The largest numbers of connections of a server, if the process may have enough descriptors.
const (
	maxConns       = 1024
	MaxLookupConns = 64 // at the port for look-ups, where a client makes one call
)

// connsOf is how many connections a server has if its process may have so many descriptors. It
// leaves as many for connections in their startup, and for each exported directory.
func connsOf(descriptors uint64) int { return int(min(maxConns, max(16, descriptors/4))) }
