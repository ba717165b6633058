package roce

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/faultlog"
)

// Defaults of Config.
const (
	DefaultReads        = 16   // IRD and ORD
	DefaultDepth        = 1024 // SendDepth and RecvDepth
	DefaultMaxConns     = 1024
	DefaultSetupTimeout = 10 * time.Second
	DefaultPeerTimeout  = 15 * time.Second
	DefaultKeepAlive    = 30 * time.Second
)

// maxReads is the maximum IRD and ORD. The fields have 8 bits (IBTA section 12.6.5), and 0xFF means
// nothing to Linux.
const maxReads = 128

// Path MTUs (IBTA section 9.4.2), in bytes.
const (
	minMTU = 256
	maxMTU = 4096
)

// Config configures a Dialer or a Listener. The zero value works; in each field zero means the
// default. If a value is out of range, Listen and Dial fail with an error that wraps ErrConfig.
type Config struct {
	// IRD is how many RDMA Reads the peer may have outstanding here (responder resources). ORD is
	// how many this side may have outstanding at the peer (initiator depth); the peer may allow
	// fewer. Both are from 1 to 128. Zero means DefaultReads; a negative number means none.
	IRD, ORD int

	// SendDepth is how many work requests can be queued. RecvDepth is how many receives can be
	// posted. Each is 1 or more; zero means DefaultDepth.
	SendDepth, RecvDepth int

	// MTU is the maximum payload of a packet in bytes: 256, 512, 1024, 2048 or 4096. The interface
	// may allow less. A Listener refuses connections with more. Zero means 4096.
	MTU int

	// Local is the address that a Dialer sends from. The zero Addr means the one that the system
	// chooses. If another process has the port there, and the peer is this host by IPv4, 127.0.0.1
	// is used instead, or else another loopback address, and the same one for later connections.
	Local netip.Addr

	// MaxConns is how many connections a Listener has at a time, including those being set up. They
	// are shared out by host: a host that has some gets another only if it then has no more than is
	// left for others. Zero means DefaultMaxConns.
	MaxConns int

	// Admit, if not nil, decides whether a host may have a connection with a Listener, before
	// anything is kept for it. It must not block. A host that is not admitted is refused.
	Admit func(netip.Addr) bool

	// SetupTimeout bounds a Dial, and the time from an Accept to the peer's answer. Zero means
	// DefaultSetupTimeout.
	SetupTimeout time.Duration

	// PeerTimeout is how long a peer may acknowledge nothing although packets are sent again, and
	// how long it may not go on with a message. Then the connection ends with ErrPeerTimeout.
	// Zero means DefaultPeerTimeout.
	PeerTimeout time.Duration

	// KeepAlive is how long a peer may be silent before it is sent an RDMA Write of length zero,
	// which only asks for an acknowledgement. Zero means DefaultKeepAlive; a negative value sends
	// none.
	KeepAlive time.Duration

	// Trace, if not nil, is called with the payload of each UDP datagram of a connection after it
	// is received, and before it is sent, including those of the setup. It is called concurrently,
	// must not block, and must not keep the packet.
	Trace func(local, remote netip.AddrPort, sent bool, packet []byte)

	// Counters, if not nil, counts events of all connections made with this Config.
	Counters *Counters

	// Logger gets a line for each fault of a peer: one a minute for each host and fault is at level
	// Warn, the others at level Debug. Nil means slog.Default().
	Logger *slog.Logger

	faults  *faultlog.Log
	network *network // nil: system
}

// on returns the network for connections.
func (c *Config) on() *network { return cmp.Or(c.network, system) }

// ErrConfig: a Config has values out of range.
var ErrConfig = errors.New("bad RoCE configuration")

func wrong(field string, value any, want string) error {
	return fmt.Errorf("%w: %s is %v, want %s", ErrConfig, field, value, want)
}

// withDefaults returns c with each unset field at its default. It fails if c is wrong.
func (c Config) withDefaults() (*Config, error) {
	c.IRD = effective(c.IRD, DefaultReads)
	c.ORD = effective(c.ORD, DefaultReads)
	c.SendDepth = cmp.Or(c.SendDepth, DefaultDepth)
	c.RecvDepth = cmp.Or(c.RecvDepth, DefaultDepth)
	c.MTU = cmp.Or(c.MTU, maxMTU)
	c.MaxConns = cmp.Or(c.MaxConns, DefaultMaxConns)
	c.SetupTimeout = cmp.Or(c.SetupTimeout, DefaultSetupTimeout)
	c.PeerTimeout = cmp.Or(c.PeerTimeout, DefaultPeerTimeout)
	c.KeepAlive = effective(c.KeepAlive, DefaultKeepAlive)
	c.Counters = cmp.Or(c.Counters, new(Counters))
	c.Logger = cmp.Or(c.Logger, slog.Default())
	c.faults = faultlog.New(c.Logger)
	switch {
	case c.IRD > maxReads:
		return nil, wrong("IRD", c.IRD, "at most 128")
	case c.ORD > maxReads:
		return nil, wrong("ORD", c.ORD, "at most 128")
	case c.SendDepth < 1:
		return nil, wrong("SendDepth", c.SendDepth, "1 or more")
	case c.RecvDepth < 1:
		return nil, wrong("RecvDepth", c.RecvDepth, "1 or more")
	case c.MTU < minMTU || c.MTU > maxMTU || c.MTU&(c.MTU-1) != 0:
		return nil, wrong("MTU", c.MTU, "256, 512, 1024, 2048 or 4096")
	case c.MaxConns < 1:
		return nil, wrong("MaxConns", c.MaxConns, "1 or more")
	case c.SetupTimeout < 0:
		return nil, wrong("SetupTimeout", c.SetupTimeout, "no negative number")
	case c.PeerTimeout < 0:
		return nil, wrong("PeerTimeout", c.PeerTimeout, "no negative number")
	}
	return &c, nil
}

func effective[T int | time.Duration](v, byDefault T) T {
	switch {
	case v == 0:
		return byDefault
	case v < 0:
		return 0
	}
	return v
}
