package loopback

const (
	defaultReads = 16   // IRD and ORD
	defaultDepth = 1024 // SendDepth and RecvDepth
	maxRegions   = 1 << 16

	// maxPrivateData is the limit of MPA (RFC 5044 section 7.1), so that what works here works over
	// iWARP.
	maxPrivateData = 512
)

// Config has the limits of one end. In each field 0 means the default, and a negative number means
// a limit of 0. Every Config is valid.
type Config struct {
	IRD       int // RDMA Reads that the peer may have outstanding here; default 16
	ORD       int // RDMA Reads that may be outstanding at the peer, at most its IRD; default 16
	SendDepth int // work requests that can be queued; default 1024
	RecvDepth int // receives that can be posted; default 1024
}

// withDefaults returns c with the values in effect.
func (c Config) withDefaults() Config {
	return Config{
		IRD:       effective(c.IRD, defaultReads),
		ORD:       effective(c.ORD, defaultReads),
		SendDepth: effective(c.SendDepth, defaultDepth),
		RecvDepth: effective(c.RecvDepth, defaultDepth),
	}
}

func effective(v, byDefault int) int {
	switch {
	case v == 0:
		return byDefault
	case v < 0:
		return 0
	}
	return v
}
