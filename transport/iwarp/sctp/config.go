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

// Defaults of Config.
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

// Bounds of MTU. The minimum leaves room for a segment of 516 bytes (RFC 5043 section 9) and the
// padding of its chunk. The maximum is what pion/sctp accepts.
const (
	minMTU = headerLen + dataHeaderLen + ssnLen + leastSegment + 2
	maxMTU = 8000
)

// Indication is the Adaptation Layer Indication of an endpoint: what it carries over SCTP (RFC 5061
// section 4.2.6).
type Indication uint32

const (
	// NoIndication means that there is none.
	NoIndication Indication = 0
	// DDP is the indication of RFC 5043. In the draft it stands for an endpoint without RDMA.
	DDP Indication = 1
	// DDPRDMA is the indication of DDP and RDMA (draft-stewart-rddp-sctp-01 section 8).
	DDPRDMA Indication = 2

	// unknownIndication stands for an indicated value of zero.
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

// Config configures a Dialer or a Listener. The zero value works; in each field zero means the
// default. If a value is out of range, Listen and NewDialer fail with an error that wraps
// ErrConfig.
type Config struct {
	// Draft uses streams as in draft-stewart-rddp-sctp-01, not as in RFC 5043:
	//
	//   - There are no sessions, so nothing is negotiated, and there is no private data. A stream
	//     exists once it is used.
	//   - Completion waits for the association's cumulative TSN, so a lost packet delays all
	//     streams.
	Draft bool

	// Indication is what this side indicates, and requires of the peer: an association with another
	// indication is refused. Zero means DDP, or DDPRDMA with Draft. It must be DDP, or with Draft
	// DDP or DDPRDMA.
	Indication Indication

	// UDPPort is the UDP port that carries SCTP: for a Listener its own, for a Dialer that of the
	// peer. Zero means DefaultUDPPort. A negative number lets a Listener use any port.
	UDPPort int

	// Local is the address that a Dialer sends from. The zero Addr means the one that the system
	// chooses.
	Local netip.Addr

	// Streams is how many streams an association asks for, and allows, in each direction: 1 to
	// 65535. Each stream is an endpoint. Zero means DefaultStreams.
	Streams int

	// MTU is the maximum size of an SCTP packet in bytes: 548 to 8000. It includes the SCTP header,
	// but not those of UDP and IP. Zero means what the path takes when the association is made;
	// later packets may get smaller with the path, but not larger.
	MTU int

	// Window is how many received bytes an association may hold that no consumer has taken: 64 KiB
	// to 1 GiB. With all overhead they may take twice as much; so of small messages it may hold
	// fewer. Zero means DefaultWindow.
	//
	// StreamMemory is how many of them may wait for the consumer of one stream: 64 KiB or more, and
	// at most Window. A session with more ends, as nothing can hold up one stream of several. Zero
	// means DefaultStreamMemory.
	Window, StreamMemory int

	// Memory is how many bytes may wait for the consumers of all associations of a Dialer or
	// Listener together, and as fragments: Window or more. It is shared out by host. What a host
	// sends beyond its share is dropped, and not acknowledged; of each association, one message
	// may be taken all the same, so that what waits for it can go on. Others wait for the consumer,
	// as with StreamMemory. A session that has messages behind a gap may end. Zero means
	// DefaultMemory, or Window if that is more.
	Memory int

	// MaxAssociations is how many associations a Listener has at a time. They are shared out by
	// host: a host that has some gets another only if it then has no more than is left for others.
	// One that a peer restarts keeps its place. Zero means DefaultMaxAssociations.
	MaxAssociations int

	// Admit, if not nil, decides whether a host may have an association with a Listener, before
	// anything is kept for it. It must not block. A host that is not admitted is told so.
	Admit func(netip.Addr) bool

	// SetupTimeout bounds three waits: until an association is established, until a session is
	// answered, and until an association has a session. Zero means DefaultSetupTimeout.
	SetupTimeout time.Duration

	// KeepAlive is how long an association may be silent before the peer is sent a heartbeat. A
	// peer that stays silent for three times as long is gone (ErrGone). Zero means
	// DefaultKeepAlive.
	KeepAlive time.Duration

	// Trace, if not nil, is called with each UDP datagram after it is received, and before it is
	// sent. It is called concurrently, must not block, and must not keep the packet. The local
	// address is unspecified if a Listener has all addresses of this host and the system chooses
	// one.
	Trace func(local, remote netip.AddrPort, sent bool, packet []byte)

	// Counters, if not nil, counts events. Several Dialers and Listeners may share one.
	Counters *Counters

	// Logger gets a line for each fault of a peer. Nil means slog.Default().
	Logger *slog.Logger

	faults *faultlog.Log
	memory *fair.Shares // of Memory bytes
}

// ErrConfig: a Config has values out of range.
var ErrConfig = errors.New("bad SCTP configuration")

func wrong(field string, value any, want string) error {
	return fmt.Errorf("%w: %s is %v, want %s", ErrConfig, field, value, want)
}

// withDefaults returns c with each unset field at its default. It fails if c is wrong.
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

// initiation returns the content of an INIT or INIT ACK of this side, with the same number of
// streams in both directions (RFC 5043 section 8).
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

// IndicationError is an association refused because of its indication (RFC 5043 section 11.1,
// draft-stewart-rddp-sctp-01 section 7.1).
type IndicationError struct {
	Peer, Want Indication
}

func (e *IndicationError) Error() string {
	return fmt.Sprintf("the peer indicates SCTP adaptation %v, want %v", e.Peer, e.Want)
}

// agree compares the peer's indication with that of this side. In the draft, a side with DDP only
// and one with RDMA could agree on DDP, but RPC-over-RDMA cannot use that.
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
