package sctp

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/fair"
	"github.com/rpcrdma/go-rpcrdma/internal/faultlog"
)

// The defaults of Config.
const (
	DefaultUDPPort         = 9899 // sctp-tunneling (RFC 6951 section 5.1)
	DefaultStreams         = 256
	DefaultWindow          = 1 << 20
	DefaultStreamMemory    = 256 << 10
	DefaultMemory          = 64 << 20
	DefaultMaxAssociations = 256
	DefaultSetupTimeout    = 10 * time.Second
	DefaultKeepAlive       = 15 * time.Second
)

// Bounds of MTU: the least leaves room for a segment of 516 bytes (RFC 5043 section 9), and its
// chunk's padding; the most is what pion/sctp can be given.
const (
	minMTU = headerLen + dataHeaderLen + ssnLen + leastSegment + 2
	maxMTU = 8000
)

// Indication is the Adaptation Layer Indication of an endpoint: what it takes SCTP to carry (RFC
// 5061 section 4.2.6).
type Indication uint32

const (
	// NoIndication stands for there being none.
	NoIndication Indication = 0
	// DDP is that of RFC 5043, and in the draft the one of an endpoint without RDMA.
	DDP Indication = 1
	// DDPRDMA is that of DDP and RDMA (draft-stewart-rddp-sctp-01 section 8).
	DDPRDMA Indication = 2

	// unknownIndication is a value of zero that was indicated.
	unknownIndication Indication = 1<<32 - 1
)

// String names the indication.
func (i Indication) String() string {
	switch i {
	case NoIndication:
		return "none"
	case DDP:
		return "DDP"
	case DDPRDMA:
		return "DDP+RDMA"
	}
	return fmt.Sprintf("%#x", uint32(i))
}

// Config is what a Dialer or a Listener is set to. The zero value is good, and in each field zero
// means the default. What is out of range is an error of Listen or NewDialer that wraps ErrConfig.
type Config struct {
	// Draft has streams as draft-stewart-rddp-sctp-01 has them, rather than RFC 5043: there are no
	// sessions, so nothing is negotiated and there is no private data; a stream is there when it is
	// used; and completion waits for the association's cumulative TSN, so that a packet which is
	// lost delays all streams.
	Draft bool

	// Indication is what this side indicates, and the peer must: an association with another is
	// refused. Zero means DDP, or with Draft DDPRDMA; with Draft it may be DDP, and otherwise it
	// must.
	Indication Indication

	// UDPPort is the UDP port that carries SCTP: of a Listener the one that it receives at, for
	// which a negative number means any, and of a Dialer that of the peer. Zero means
	// DefaultUDPPort.
	UDPPort int

	// Streams is how many streams an association is asked to have, and may have, in each direction:
	// 1 to 65535. Each is an endpoint. Zero means DefaultStreams.
	Streams int

	// MTU is the most bytes of an SCTP packet, its header included and those of UDP and IP not: 548
	// to 8000. Zero means what the path has when the association is made, and no more than that
	// later on.
	MTU int

	// Window is how many bytes an association may have received that nobody has looked at: 64 KiB
	// or more. Zero means DefaultWindow. StreamMemory is how many of them may wait for the consumer
	// of one stream, 64 KiB or more. The session of a stream with more ends: nothing holds up one
	// stream of several. Zero means DefaultStreamMemory.
	Window, StreamMemory int

	// Memory is how many bytes may wait for the consumers of all associations of a Dialer or
	// Listener together, shared out by host: Window or more. The session of a host that would have
	// more ends. Zero means DefaultMemory, or Window where that is more.
	Memory int

	// MaxAssociations is how many associations a Listener has at a time, shared out by host: one
	// that has some gets another only while it then has no more than is left for others. Zero means
	// DefaultMaxAssociations.
	MaxAssociations int

	// Admit, if not nil, is asked by a Listener whether a host may have an association, before
	// anything is kept for it. It must not block. Who is not admitted is told so.
	Admit func(netip.Addr) bool

	// SetupTimeout bounds the time until an association is there, or a session is answered, or an
	// association has a session. Zero means DefaultSetupTimeout.
	SetupTimeout time.Duration

	// KeepAlive is how long an association may be silent before the peer is asked whether it is
	// there. It has gone that does not answer for three times as long. Zero means DefaultKeepAlive.
	KeepAlive time.Duration

	// Trace, if not nil, is called with each UDP datagram that is received, and with each before it
	// is sent. It is called concurrently, must not block, and must not keep the packet. The local
	// address is unspecified where a Listener has all addresses of this host, and the system
	// chooses one.
	Trace func(local, remote netip.AddrPort, sent bool, packet []byte)

	// Counters, if not nil, counts for several Dialers or Listeners together.
	Counters *Counters

	// Logger is told of what peers do wrong. Nil means slog.Default().
	Logger *slog.Logger

	faults *faultlog.Log
	memory *fair.Shares // Memory
}

// ErrConfig: a Config with values out of range.
var ErrConfig = errors.New("bad SCTP configuration")

func wrong(field string, value any, want string) error {
	return fmt.Errorf("%w: %s is %v, want %s", ErrConfig, field, value, want)
}

// withDefaults returns c with what zero means, or what is wrong with it.
func (c Config) withDefaults() (*Config, error) {
	indication := DDP
	if c.Draft {
		indication = DDPRDMA
	}
	c.Indication = cmp.Or(c.Indication, indication)
	c.UDPPort = cmp.Or(c.UDPPort, DefaultUDPPort)
	c.Streams = cmp.Or(c.Streams, DefaultStreams)
	c.Window = cmp.Or(c.Window, DefaultWindow)
	c.StreamMemory = cmp.Or(c.StreamMemory, DefaultStreamMemory)
	c.Memory = cmp.Or(c.Memory, max(DefaultMemory, c.Window))
	c.MaxAssociations = cmp.Or(c.MaxAssociations, DefaultMaxAssociations)
	c.SetupTimeout = cmp.Or(c.SetupTimeout, DefaultSetupTimeout)
	c.KeepAlive = cmp.Or(c.KeepAlive, DefaultKeepAlive)
	c.Counters = cmp.Or(c.Counters, new(Counters))
	c.Logger = cmp.Or(c.Logger, slog.Default())
	c.faults = faultlog.New(c.Logger)
	switch {
	case c.Indication != DDP && !(c.Draft && c.Indication == DDPRDMA):
		return nil, wrong("Indication", c.Indication, "DDP, or with Draft DDP+RDMA")
	case c.UDPPort > 1<<16-1:
		return nil, wrong("UDPPort", c.UDPPort, "at most 65535")
	case c.Streams < 1 || c.Streams > 1<<16-1:
		return nil, wrong("Streams", c.Streams, "1 to 65535")
	case c.MTU != 0 && (c.MTU < minMTU || c.MTU > maxMTU):
		return nil, wrong("MTU", c.MTU, fmt.Sprintf("%d to %d", minMTU, maxMTU))
	case c.Window < 64<<10 || c.Window > 1<<30:
		return nil, wrong("Window", c.Window, "64 KiB to 1 GiB")
	case c.StreamMemory < maxMessage || c.StreamMemory > c.Window:
		return nil, wrong("StreamMemory", c.StreamMemory, "64 KiB to Window")
	case c.Memory < c.Window:
		return nil, wrong("Memory", c.Memory, "Window or more")
	case c.MaxAssociations < 1:
		return nil, wrong("MaxAssociations", c.MaxAssociations, "1 or more")
	case c.SetupTimeout < 0:
		return nil, wrong("SetupTimeout", c.SetupTimeout, "no negative number")
	case c.KeepAlive < 0:
		return nil, wrong("KeepAlive", c.KeepAlive, "no negative number")
	}
	c.memory = fair.New(int64(c.Memory))
	return &c, nil
}

// initiation returns what an INIT or INIT ACK of this side says. There are as many streams in both
// directions (RFC 5043 section 8).
func (c *Config) initiation() initiation {
	return initiation{
		tag: random(), window: uint32(c.Window), out: uint16(c.Streams), in: uint16(c.Streams),
		tsn: random(), indication: c.Indication,
	}
}

// usable returns how many streams both sides can use in both directions.
func (c *Config) usable(ours, theirs initiation) uint16 {
	return min(ours.out, ours.in, theirs.out, theirs.in)
}

// IndicationError is an association that was refused for its indication (RFC 5043 section 11.1,
// draft-stewart-rddp-sctp-01 section 7.1).
type IndicationError struct {
	Peer, Want Indication
}

func (e *IndicationError) Error() string {
	return fmt.Sprintf("the peer indicates %v as its adaptation of SCTP, and not %v", e.Peer, e.Want)
}

// agree compares the peer's indication with that of this side. In the draft, one with DDP alone and
// one with RDMA have DDP alone in common, on which there is no RPC-over-RDMA.
func (c *Config) agree(peer Indication) error {
	if peer != c.Indication {
		return &IndicationError{peer, c.Indication}
	}
	return nil
}

// fault logs what a peer does wrong.
func (c *Config) fault(peer netip.AddrPort, what string, err error) {
	c.faults.Fault(net.UDPAddrFromAddrPort(peer), "sctp: "+what, nil, "err", err)
}
