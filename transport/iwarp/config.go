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

// The defaults of Config.
const (
	DefaultReads            = 16   // IRD and ORD
	DefaultDepth            = 1024 // SendDepth and RecvDepth
	DefaultHandshakeTimeout = 10 * time.Second
	DefaultStallTimeout     = 30 * time.Second
	DefaultNudgeAfter       = 50 * time.Millisecond
)

const (
	// maxRegions is the number of windows that an endpoint can have open.
	maxRegions = 1 << 16

	// minSegment and maxSegment bound Config.MaxSegment: the header of a segment and something to
	// carry must fit, and its length has 16 bits (RFC 5044 section 4.1).
	minSegment = 64
	maxSegment = 1<<16 - 1
)

// CRC says whether FPDUs carry CRC32C. It is used if either side wants it (RFC 5044 section 7.1).
type CRC uint8

const (
	// CRCAuto wants it, except where the peer has a loopback address: there nothing can go wrong on
	// the way that the CRC would find.
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

// Config is what a Dialer or a Listener is set to. The zero value is good, and in each field zero
// means the default. What is unknown, out of range or contradicts itself is an error of Dial,
// Listen and NewListener that wraps mpa.ErrConfig and names the field, before anything is sent or
// listened to.
type Config struct {
	// IRD is how many RDMA Reads the peer may have outstanding here, ORD how many may be
	// outstanding at the peer, who may allow fewer: 1 to mpa.MaxReads. Zero means DefaultReads, or
	// for ORD RequiredORD if that is more; a negative number none.
	IRD, ORD int

	// RequiredORD is the least ORD that a listener accepts connections with (RFC 6581 section 9.1),
	// 0 to mpa.MaxReads. It must not be above ORD. Zero accepts any.
	RequiredORD int

	// ManualReads leaves IRD and ORD to the upper layer: they are as set here, and not negotiated
	// (RFC 6581 section 9.1). RequiredORD must be zero then.
	ManualReads bool

	// SendDepth is how many work requests can be queued, RecvDepth how many receives can be posted,
	// 1 or more each. Zero means DefaultDepth.
	SendDepth, RecvDepth int

	// Enhanced says whether connections are set up by RFC 6581. A Dialer with mpa.EnhancedAuto
	// tries again without if the peer turns out not to know it. A Listener accepts requests without
	// in any case.
	Enhanced mpa.Enhanced

	// PeerToPeer has a Dialer ask for the peer-to-peer model, in which either side may send first.
	// Otherwise the dialing side must; what the listening side posts is held back until then. A
	// Listener goes by what it is asked for.
	PeerToPeer bool

	// RTR is the kinds of ready-to-receive indications that a Dialer can send, or a Listener take,
	// in the peer-to-peer model (RFC 6581 section 9.2). Zero means all.
	RTR mpa.RTR

	// OneRTR has a Listener name one kind of RTR in its reply, rather than all of those offered
	// that it takes. Of several, adapters of Chelsio choose one that they cannot send.
	OneRTR bool

	// CRC with version 0 of DDP and RDMAP is on, whatever is set here.
	CRC CRC

	// RNIC is the kind of adapter that this side passes for, and Version, if set, the version of
	// DDP and RDMAP that connections must have (draft-carrier-rddp-rnic-interop-00). An
	// mpa.Permissive side takes RDMA Consortium peers, of version 0, as they come. A Version that
	// the RNIC does not have is an error that wraps mpa.ErrVersion.
	RNIC    mpa.RNIC
	Version mpa.Version

	// Markers says whether there are to be markers in what is received, one for every 512 bytes
	// (RFC 5044 section 4.3). What is sent has them if the peer asks for it. To do without where
	// they must be is an error that wraps mpa.ErrMarkersNeeded.
	Markers mpa.Markers

	// PrivateLimit is the most private data in bytes that is sent, the four bytes of an enhanced
	// setup included: 4 to 512. Zero means mpa.MaxPrivateData. RPC-over-RDMA needs eight bytes (RFC
	// 8797), besides those four.
	PrivateLimit int

	// Draft05 has this side speak the dialect of draft-ietf-storm-mpa-peer-connect-05, from before
	// RFC 6581: see mpa.Config; and in Terminate messages about the setup the error type is 3
	// (section 8 of the draft). Peers that speak it are understood in any case.
	Draft05 bool

	// Choose, if not nil, is called on the listening side when a request is accepted, before the
	// reply. It sees what the peer asks for, and may change what the reply settles: RNIC, Version,
	// Markers, CRC and the others of mpa.Config, which come as this Config has them, CRCAuto
	// already decided (draft-carrier-rddp-rnic-interop-00 section 6.2.5). An error has the peer
	// rejected, as an impossible choice does, and Accept returns it; a reject is by this Config
	// alone. Choose runs on the goroutine of Accept, so concurrently with itself if that is called
	// so; the peer waits meanwhile. The request is for looking only.
	Choose func(peer net.Addr, request *mpa.Request, cfg *mpa.Config) error

	// MaxSegment is the most bytes of a DDP segment that is sent, header included (MULPDU): 64 to
	// 65535. Zero means an FPDU for each TCP segment, or nearly 64 KiB where the TCP segments are
	// larger than 16 KiB. mpa.FPDUPerTCPSegment means the former in any case. Over what is not TCP
	// both mean nearly 64 KiB. Where there are markers in what is sent, as the peer asks for them,
	// a segment has at most 64768 bytes.
	MaxSegment int

	// HandshakeTimeout bounds the startup: for a Dialer from the connection to the reply, for a
	// Listener from there to the whole request. Zero means DefaultHandshakeTimeout. It must not be
	// negative.
	HandshakeTimeout time.Duration

	// StallTimeout is how long a peer may leave a segment or a message incomplete, or not take what
	// is sent, before the connection ends with mpa.ErrStalled. A peer that is slow has longer: as
	// long as 16 KiB move within StallTimeout, and 1 KiB in each second of it. What counts is the
	// payload of messages, which are Sends and the responses to RDMA Reads, any byte of a segment
	// that is incomplete, and what TCP has got rid of. Who leaves a message incomplete is told by a
	// Terminate message: catastrophic error, localized to the stream (RFC 5040 sections 4.8 and
	// 7.1). It takes a quarter to a half longer to notice.
	//
	// While a message waits for memory (transport.SharedReceiver) nothing of its peer's time
	// passes. Where that took StallTimeout or more, a quarter of it is left for the rest of the
	// message: the peer could send that meanwhile. So who waits for memory that peers which have
	// stopped hold gets it within one and a half times StallTimeout, and a quarter of it for each
	// further time that all of the memory goes to such that waited in front of him.
	//
	// Zero means DefaultStallTimeout. It must not be negative.
	StallTimeout time.Duration

	// NudgeAfter is how long a Dialer waits for anything at all from the peer, after its own first
	// message, before it sends an RDMA Write of no bytes, and then up to five more at growing
	// intervals. Linux's siw may overlook a first message that comes quickly, until something else
	// comes; such a Write asks nothing of a peer, and is checked by none. Zero means
	// DefaultNudgeAfter; if negative none is sent.
	NudgeAfter time.Duration

	// Control, if not nil, is called with each socket before it is connected or listens, as
	// net.Dialer.Control is.
	Control func(network, address string, c syscall.RawConn) error

	// Counters, if not nil, counts what happens on all connections made with this Config.
	Counters *Counters

	// Logger gets a line at level Warn for each peer that breaks the protocol, that this side
	// refuses, or that leaves in the middle of the startup, and at level Debug for those that
	// connect without a word. Where a Listener, or a connection of it, finds the same wrong with
	// one host again and again, a line a minute is at level Warn, in which "more" is how many there
	// were since the one before, and the others are at level Debug. Nil means slog.Default().
	Logger *slog.Logger

	faults *faultlog.Log // writes to Logger; of all connections of a Listener
}

// withDefaults returns c with every field that is not set at its default.
func (c Config) withDefaults() Config {
	c.IRD = effective(c.IRD, DefaultReads)
	c.ORD = effective(c.ORD, min(max(DefaultReads, c.RequiredORD), mpa.MaxReads))
	c.SendDepth = cmp.Or(c.SendDepth, DefaultDepth)
	c.RecvDepth = cmp.Or(c.RecvDepth, DefaultDepth)
	c.HandshakeTimeout = cmp.Or(c.HandshakeTimeout, DefaultHandshakeTimeout)
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

// forDialer returns c with its defaults, for a Dialer that sends that private data, or why there
// can be none.
func (c Config) forDialer(private []byte) (Config, error) {
	c = c.withDefaults()
	startup := c.startup(nil)
	return c, errors.Join(c.validate(), startup.ValidateInitiator(private))
}

// forListener returns c with its defaults, for a Listener, or why there can be none.
func (c Config) forListener() (Config, error) {
	c = c.withDefaults()
	startup := c.startup(nil)
	return c, errors.Join(c.validate(), startup.ValidateResponder())
}

// validate finds what cannot be meant by the fields that package mpa does not see.
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

// startup is c as the handshake on a connection, which may be nil, wants it.
func (c *Config) startup(conn net.Conn) mpa.Config {
	enhanced := c.Enhanced
	own, ok := conn.(carrier)
	if ok && own.Silent() && enhanced == mpa.EnhancedAuto && !c.PeerToPeer && !c.ManualReads {
		enhanced = mpa.EnhancedNever // there is no peer to find out from
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

// Capabilities is what can be known of a side before it connects
// (draft-carrier-rddp-rnic-interop-00 section 6.2.1), if Dial and Listen take c. What came of it on
// a connection SetupOf tells.
func (c Config) Capabilities() mpa.Capabilities {
	startup := c.startup(nil)
	return startup.Capabilities()
}

// isLoopback reports whether the peer of a connection, which may be nil, has a loopback address.
func isLoopback(conn net.Conn) bool {
	if conn == nil {
		return false
	}
	tcp, ok := conn.RemoteAddr().(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}
