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

// The defaults of Config.
const (
	DefaultReads        = 16   // IRD and ORD
	DefaultDepth        = 1024 // SendDepth and RecvDepth
	DefaultMaxConns     = 1024
	DefaultSetupTimeout = 10 * time.Second
	DefaultPeerTimeout  = 15 * time.Second
	DefaultKeepAlive    = 30 * time.Second
)

// maxReads is the largest IRD and ORD: they have 8 bits (IBTA section 12.6.5), and 0xFF means
// nothing to Linux.
const maxReads = 128

// Path MTUs (IBTA section 9.4.2), in bytes.
const (
	minMTU = 256
	maxMTU = 4096
)

// Config is what a Dialer or a Listener is set to. The zero value is good, and in each field zero
// means the default. What is out of range is an error of Listen or Dial that wraps ErrConfig.
type Config struct {
	// IRD is how many RDMA Reads the peer may have outstanding here (responder resources), ORD how
	// many may be outstanding at the peer, who may allow fewer (initiator depth): 1 to 128. Zero
	// means DefaultReads, a negative number none.
	IRD, ORD int

	// SendDepth is how many work requests can be queued, RecvDepth how many receives can be posted,
	// 1 or more each. Zero means DefaultDepth.
	SendDepth, RecvDepth int

	// MTU is the most bytes of payload in a packet, which the interface may have less room for:
	// 256, 512, 1024, 2048 or 4096. A Listener refuses connections with more. Zero means 4096.
	MTU int

	// Local is the address that a Dialer sends from. The zero Addr means the one that the system
	// would take. Where the port is taken there, and the peer is this host, by IPv4, it is one of
	// the loopback interface.
	Local netip.Addr

	// MaxConns is how many connections a Listener has at a time, those that are being set up
	// included. They are shared out by host: one that has some gets another only while it then has
	// no more than is left for others. Zero means DefaultMaxConns.
	MaxConns int

	// Admit, if not nil, is asked by a Listener whether a host may have a connection, before
	// anything is kept for it. It must not block. Who is not admitted is refused.
	Admit func(netip.Addr) bool

	// SetupTimeout bounds the setup of a connection: a Dial, and the time from an Accept to the
	// peer's answer. Zero means DefaultSetupTimeout.
	SetupTimeout time.Duration

	// PeerTimeout is how long a peer may leave unacknowledged what is sent to it again and again,
	// and how long it may take to send again what was lost. Then the connection ends with
	// ErrPeerTimeout. Zero means DefaultPeerTimeout.
	PeerTimeout time.Duration

	// KeepAlive is how long a peer may be silent before it is sent an RDMA Write of no bytes, which
	// asks for an acknowledgement and for nothing else. Zero means DefaultKeepAlive; if negative
	// none is sent.
	KeepAlive time.Duration

	// Trace, if not nil, is called with the payload of each UDP datagram of a connection that is
	// received, and of each before it is sent, those that set it up included. It is called
	// concurrently, must not block, and must not keep the packet.
	Trace func(local, remote netip.AddrPort, sent bool, packet []byte)

	// Counters, if not nil, counts what happens on all connections made with this Config.
	Counters *Counters

	// Logger is told of what peers do wrong, aloud once a minute for each host and fault. Nil means
	// slog.Default().
	Logger *slog.Logger

	faults  *faultlog.Log
	network *network // nil: system
}

// on returns the network that connections are on.
func (c *Config) on() *network { return cmp.Or(c.network, system) }

// ErrConfig: a Config with values out of range.
var ErrConfig = errors.New("bad RoCE configuration")

func wrong(field string, value any, want string) error {
	return fmt.Errorf("%w: %s is %v, want %s", ErrConfig, field, value, want)
}

// withDefaults returns c with what zero means, or what is wrong with it.
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
