package iwarp

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"syscall"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/faultlog"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
)

// Defaults of Config.
const (
	DefaultReads            = 16   // IRD and ORD
	DefaultDepth            = 1024 // SendDepth and RecvDepth
	DefaultHandshakeTimeout = 10 * time.Second
	DefaultMaxPending       = 256
	DefaultStallTimeout     = 30 * time.Second
	DefaultNudgeAfter       = 50 * time.Millisecond
)

const (
	// maxRegions is how many windows an endpoint may have open.
	maxRegions = 1 << 16

	// minSegment and maxSegment bound Config.MaxSegment. A segment must hold its header and some
	// payload, and its length has 16 bits (RFC 5044 section 4.1).
	minSegment = 64
	maxSegment = 1<<16 - 1
)

// CRC says whether this side wants a CRC32C in each FPDU. It is used if either side wants it (RFC
// 5044 section 7.1).
type CRC uint8

const (
	// CRCAuto wants it, unless the peer has a loopback address, where the CRC would find nothing.
	CRCAuto CRC = iota
	// CRCOn wants it.
	CRCOn
	// CRCOff does not want it.
	CRCOff
)

// String names the value.
func (c CRC) String() string {
	switch c {
	case CRCAuto:
		return "auto"
	case CRCOn:
		return "on"
	case CRCOff:
		return "off"
	}
	return fmt.Sprintf("CRC %d", uint8(c))
}

// Config configures a Dialer or a Listener. The zero value works; in each field zero means the
// default. If a value is unknown, out of range, or contradicts another, Dial, Listen and
// NewListener fail before they send or listen. Their error wraps mpa.ErrConfig and names the field.
type Config struct {
	// IRD is how many RDMA Reads the peer may have outstanding here. ORD is how many this side may
	// have outstanding at the peer; the peer may allow fewer. Both are from 1 to mpa.MaxReads. Zero
	// means DefaultReads, or for ORD RequiredORD if that is more. A negative number means none.
	IRD, ORD int

	// RequiredORD is the least ORD with which a listener accepts a connection (RFC 6581 section
	// 9.1): 0 to mpa.MaxReads, and not above ORD. Zero accepts any.
	RequiredORD int

	// ManualReads leaves IRD and ORD to the upper layer: they are used as set here, not negotiated
	// (RFC 6581 section 9.1). RequiredORD must then be zero.
	ManualReads bool

	// SendDepth is how many work requests can be queued. RecvDepth is how many receives can be
	// posted. Each is 1 or more; zero means DefaultDepth.
	SendDepth, RecvDepth int

	// Enhanced says whether connections are set up by RFC 6581. With mpa.EnhancedAuto, a Dialer
	// tries again without it if the peer does not know it. A Listener always accepts requests
	// without it, too.
	Enhanced mpa.Enhanced

	// PeerToPeer makes a Dialer ask for the peer-to-peer model, in which either side may send
	// first. Without it, the dialing side must send first, and what the listening side posts is
	// held back until then. A Listener takes the model that the request asks for.
	PeerToPeer bool

	// RTR is the kinds of ready-to-receive indications that a Dialer can send, or a Listener can
	// take, in the peer-to-peer model (RFC 6581 section 9.2). Zero means all.
	RTR mpa.RTR

	// OneRTR makes a Listener name in its reply only one of the offered kinds of RTR that it takes,
	// not all. Chelsio adapters, given several, choose one that they cannot send.
	OneRTR bool

	// CRC says whether this side wants a CRC32C in each FPDU. With version 0 of DDP and RDMAP it is
	// always on.
	CRC CRC

	// RNIC is the kind of adapter that this side presents itself as. Version, if set, is the
	// version of DDP and RDMAP that connections must have (draft-carrier-rddp-rnic-interop-00). An
	// mpa.Permissive side also accepts RDMA Consortium peers, which have version 0. A Version that
	// the RNIC does not have is an error that wraps mpa.ErrVersion.
	RNIC    mpa.RNIC
	Version mpa.Version

	// Markers says whether this side wants a marker for every 512 bytes that it receives (RFC 5044
	// section 4.3). What it sends has markers if the peer wants them. mpa.MarkersOff where markers
	// are mandatory is an error that wraps mpa.ErrMarkersNeeded.
	Markers mpa.Markers

	// PrivateLimit is the maximum private data to send, in bytes: 4 to 512. The four bytes of an
	// enhanced setup count. Zero means mpa.MaxPrivateData. RPC-over-RDMA needs eight bytes (RFC
	// 8797) besides those four.
	PrivateLimit int

	// Draft05 makes this side speak the dialect of draft-ietf-storm-mpa-peer-connect-05, the
	// predecessor of RFC 6581: see mpa.Config. Terminate messages about the setup then have error
	// type 3 (section 8 of the draft). Peers that speak it are understood without this option.
	Draft05 bool

	// Choose, if not nil, is called on the listening side when a request is accepted, before the
	// transport.Preparation and the reply. It sees what the peer asks for, and may change cfg,
	// which decides the reply (draft-carrier-rddp-rnic-interop-00 section 6.2.5). Cfg starts with
	// the values of this Config, with CRCAuto already resolved. It must not change the request.
	//
	// If Choose returns an error, or a cfg that is invalid, the peer is rejected and Accept returns
	// the error. The reject follows this Config, not cfg.
	//
	// Choose runs on the goroutine that calls Accept, so it may run concurrently with itself. The
	// peer waits for it.
	Choose func(peer net.Addr, request *mpa.Request, cfg *mpa.Config) error

	// MaxSegment is the maximum length in bytes of a DDP segment to send, header included (MULPDU):
	// 64 to 65535, or 64768 if the peer wants markers. Zero means one FPDU for each TCP segment, or
	// nearly 64 KiB if TCP segments are larger than 16 KiB. mpa.FPDUPerTCPSegment means one FPDU
	// for each TCP segment in any case. If the connection is not TCP, both mean nearly 64 KiB.
	MaxSegment int

	// HandshakeTimeout bounds the startup: for a Dialer from the TCP connection to the reply, for a
	// Listener from the TCP connection to the complete request. Zero means DefaultHandshakeTimeout.
	// It must not be negative.
	HandshakeTimeout time.Duration

	// MaxPending is how many connections of a Listener over TCP may be in their startup or wait for
	// Accept. Zero means DefaultMaxPending. It must not be negative. Beyond it, one in its startup
	// is closed: the oldest of the host that has most of them. A quarter as many more may be held
	// for a second, because they do not speak MPA and their hosts have tried before.
	MaxPending int

	// StallTimeout is how long a peer may leave a segment or a message incomplete, or not take what
	// is sent, before the connection ends with mpa.ErrStalled. Zero means DefaultStallTimeout. It
	// must not be negative.
	//
	// A slow peer has more time, as long as it moves 16 KiB within each StallTimeout, and 1 KiB a
	// second on average. This counts the payload of Sends and of responses to RDMA Reads, all bytes
	// of an incomplete segment, and the sent bytes that TCP no longer holds because the peer has
	// acknowledged them. It may take a quarter to a half longer to notice a stall. A peer that
	// leaves a message incomplete is sent a Terminate message: catastrophic error, localized to the
	// stream (RFC 5040 sections 4.8 and 7.1).
	//
	// While a message waits for memory here (transport.SharedReceiver), the time of its peer stands
	// still. If the wait took StallTimeout or more, the peer could have sent the rest meanwhile,
	// and has a quarter of StallTimeout left for it. So a connection that waits for memory held by
	// stopped peers gets it within one and a half times StallTimeout, plus a quarter for each
	// further time that all memory goes to stopped peers ahead of it in the queue.
	StallTimeout time.Duration

	// NudgeAfter is how long a Dialer waits after its first message, without any byte from the
	// peer, before it sends an RDMA Write of length zero, and then up to five more at growing
	// intervals. Linux's siw may overlook a first message that comes quickly, until something else
	// comes. Such a Write has no effect at the peer and is not checked. Zero means
	// DefaultNudgeAfter; a negative value sends none.
	NudgeAfter time.Duration

	// Control, if not nil, is called with each socket before it connects or listens, like
	// net.Dialer.Control.
	Control func(network, address string, c syscall.RawConn) error

	// Counters, if not nil, counts events of all connections made with this Config.
	Counters *Counters

	// Logger gets a line at level Warn for each peer that breaks the protocol, is refused, or
	// leaves during the startup. A peer that connects and sends nothing gets level Debug. If a
	// Listener or its connections find the same fault with one host repeatedly, one line a minute
	// is at level Warn, with the number of lines since the last one as "more"; the others are at
	// level Debug. Nil means slog.Default().
	Logger *slog.Logger

	faults *faultlog.Log // writes to Logger; shared by all connections of a Listener
}

// withDefaults returns c with each unset field at its default.
func (c Config) withDefaults() Config {
	c.IRD = effective(c.IRD, DefaultReads)
	c.ORD = effective(c.ORD, min(max(DefaultReads, c.RequiredORD), mpa.MaxReads))
	c.SendDepth = cmp.Or(c.SendDepth, DefaultDepth)
	c.RecvDepth = cmp.Or(c.RecvDepth, DefaultDepth)
	c.HandshakeTimeout = cmp.Or(c.HandshakeTimeout, DefaultHandshakeTimeout)
	c.MaxPending = cmp.Or(c.MaxPending, DefaultMaxPending)
	c.StallTimeout = cmp.Or(c.StallTimeout, DefaultStallTimeout)
	c.NudgeAfter = effective(c.NudgeAfter, DefaultNudgeAfter)
	if c.Counters == nil {
		c.Counters = new(Counters)
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	c.faults = faultlog.New(c.Logger)
	return c
}

// forDialer returns c with defaults, checked for a Dialer.
func (c Config) forDialer() (Config, error) {
	c = c.withDefaults()
	startup := c.startup(nil)
	return c, errors.Join(c.validate(), startup.ValidateInitiator(nil))
}

// forListener returns c with defaults, checked for a Listener.
func (c Config) forListener() (Config, error) {
	c = c.withDefaults()
	startup := c.startup(nil)
	return c, errors.Join(c.validate(), startup.ValidateResponder())
}

// validate checks the fields that package mpa does not see.
func (c *Config) validate() error {
	switch {
	case c.CRC > CRCOff:
		return wrong("CRC", uint8(c.CRC), "CRCAuto, CRCOn or CRCOff")
	case c.SendDepth < 1:
		return wrong("SendDepth", c.SendDepth, "1 or more, or 0 for the default")
	case c.RecvDepth < 1:
		return wrong("RecvDepth", c.RecvDepth, "1 or more, or 0 for the default")
	case c.HandshakeTimeout < 0:
		return wrong("HandshakeTimeout", c.HandshakeTimeout, "above 0, or 0 for the default")
	case c.MaxPending < 0:
		return wrong("MaxPending", c.MaxPending, "1 or more, or 0 for the default")
	case c.StallTimeout < 0:
		return wrong("StallTimeout", c.StallTimeout, "above 0, or 0 for the default")
	case c.MaxSegment == 0 || c.MaxSegment == mpa.FPDUPerTCPSegment:
	case c.MaxSegment < minSegment || c.MaxSegment > maxSegment:
		return wrong("MaxSegment", c.MaxSegment,
			"from %d to %d, 0 for the default, or mpa.FPDUPerTCPSegment", minSegment, maxSegment)
	}
	return nil
}

func wrong(field string, value any, want string, args ...any) error {
	want = fmt.Sprintf(want, args...)
	return fmt.Errorf("%w: Config.%s is %v: it must be %s", mpa.ErrConfig, field, value, want)
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

// startup returns the mpa.Config for the startup on conn, which may be nil.
func (c *Config) startup(conn net.Conn) mpa.Config {
	enhanced := c.Enhanced
	own, ok := conn.(carrier)
	if ok && own.Silent() && enhanced == mpa.EnhancedAuto && !c.PeerToPeer && !c.ManualReads {
		enhanced = mpa.EnhancedNever // the startup sends nothing, so no peer can answer
	}
	return mpa.Config{
		IRD:          c.IRD,
		ORD:          c.ORD,
		RequiredORD:  c.RequiredORD,
		ManualReads:  c.ManualReads,
		Enhanced:     enhanced,
		PeerToPeer:   c.PeerToPeer,
		RTR:          c.RTR,
		OneRTR:       c.OneRTR,
		CRC:          c.CRC == CRCOn || c.CRC == CRCAuto && !isLoopback(conn),
		RNIC:         c.RNIC,
		Version:      c.Version,
		Markers:      c.Markers,
		PrivateLimit: c.PrivateLimit,
		Draft05:      c.Draft05,
	}
}

// Capabilities returns what is known of a side with Config c before it connects
// (draft-carrier-rddp-rnic-interop-00 section 6.2.1), if Dial and Listen accept c. SetupOf tells
// what came of it on a connection.
func (c Config) Capabilities() mpa.Capabilities {
	startup := c.startup(nil)
	return startup.Capabilities()
}

// isLoopback reports whether the peer of conn, which may be nil, has a loopback address.
func isLoopback(conn net.Conn) bool {
	if conn == nil {
		return false
	}
	tcp, ok := conn.RemoteAddr().(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}
