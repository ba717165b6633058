package daemon

// The most connections that a server has, as far as the descriptors of the process go.
const (
	maxConns       = 1024
	MaxLookupConns = 64 // at the port for look-ups, where clients stay for one
)

// connsOf is how many connections a server has in a process of so many descriptors. It leaves as
// many to connections in their startup, and to each directory that is served.
func connsOf(descriptors uint64) int { return int(min(maxConns, max(16, descriptors/4))) }
