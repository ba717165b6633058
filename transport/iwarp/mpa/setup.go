package mpa

import (
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
)

// UnenhancedORD limits our outstanding RDMA Reads if the peer did not say how many it takes,
// because the setup was not enhanced. It is a guess, low enough for known adapters.
const UnenhancedORD = 8

// Enhanced says whether a side does enhanced setup (RFC 6581).
type Enhanced uint8

const (
	// EnhancedAuto makes an initiator ask for enhanced setup, and a responder do it if asked.
	EnhancedAuto Enhanced = iota
	// EnhancedRequired is EnhancedAuto for an initiator that does not fall back. A responder still
	// accepts unenhanced requests, as it must (RFC 6581 section 10).
	EnhancedRequired
	// EnhancedNever makes an initiator send revision 1, and a responder of any RNIC leave enhanced
	// requests unanswered.
	EnhancedNever
)

// String names the value.
func (e Enhanced) String() string { return named("enhanced", e, "auto", "required", "never") }

// named returns the name of a value, or its kind and number if it has none.
func named[T ~uint8](kind string, v T, names ...string) string {
	if int(v) < len(names) {
		return names[v]
	}
	return fmt.Sprintf("%s %d", kind, v)
}

// Config configures the startup of one side of a connection.
type Config struct {
	// IRD is how many RDMA Reads the peer may have outstanding here; ORD is how many this side may
	// have outstanding at the peer. Both are from 0 to MaxReads.
	IRD, ORD int

	// RequiredORD is the least ORD that a responder accepts. It rejects an enhanced request with a
	// smaller IRD, and names this number (RFC 6581 section 9.1).
	RequiredORD int

	// ManualReads leaves IRD and ORD to the upper layer (RFC 6581 section 9.1): both are sent as
	// ReadsManual, and this side's limits stay as set here.
	ManualReads bool

	Enhanced Enhanced

	// PeerToPeer makes an initiator ask for the peer-to-peer model: it sends an RTR, after which
	// either side may send first. A responder takes the model that the request asks for.
	PeerToPeer bool

	// RTR is the kinds of RTR that an initiator can send, or a responder can take. Zero means all.
	RTR RTR

	// OneRTR makes a responder name only one of the offered kinds of RTR that it takes: Write if
	// possible, else Read, else Send. Some initiators, given several, choose one that they cannot
	// send.
	OneRTR bool

	// CRC asks for CRC32C. It is used if either side asks.
	CRC bool

	// RNIC is the kind of adapter that this side presents itself as. Version may ask for one of the
	// versions of DDP and RDMAP that it has.
	RNIC    RNIC
	Version Version

	// Markers says whether this side wants markers in what it receives.
	Markers Markers

	// PrivateLimit is the maximum private data to send, in bytes, enhanced data included. Some
	// peers drop connections with more than they expect. Zero means MaxPrivateData.
	PrivateLimit int

	// Draft05 makes this side speak the dialect of draft-ietf-storm-mpa-peer-connect-05, the
	// predecessor of RFC 6581. A responder's IRD is then at most the initiator's ORD, or 1 for an
	// RTR by Read. If a responder takes none of the offered kinds of RTR, it names none, and the
	// first message must be a Send (section 9 of the draft). Peers that speak it are understood
	// without this option.
	Draft05 bool
}

// Setup is what the two sides agreed on. Its PrivateData is without the enhanced data.
type Setup struct {
	ddp.Setup

	Revision int // of MPA, in the reply: 0 to 2; 0 means version 0 of DDP and RDMAP
	Enhanced bool
	CRC      bool // FPDUs carry CRC32C, both ways

	// MarkersIn and MarkersOut say whether there are markers in what is received, and in what is
	// sent.
	MarkersIn, MarkersOut bool

	// PeerIRD and PeerORD are as the peer said them, possibly ReadsManual; -1 if the setup was not
	// enhanced.
	PeerIRD, PeerORD int

	PeerToPeer bool
}

// ValidateResponder checks c for use as a responder. It fails with an error that wraps ErrConfig.
// Accept and Reject make the same check, but only once there is a request.
func (c *Config) ValidateResponder() error {
	if err := c.validate(); err != nil {
		return err
	}
	if c.takes() == 0 {
		return wrong("IRD", c.IRD, "1 or more for an RTR by Read")
	}
	return nil
}

// ValidateInitiator checks c and the private data for use as an initiator. It fails with an error
// that wraps ErrConfig or transport.ErrPrivateData. Initiate makes the same check, but only once
// there is a connection.
func (c *Config) ValidateInitiator(private []byte) error {
	if err := c.validate(); err != nil {
		return err
	}
	switch {
	case c.Enhanced == EnhancedRequired && c.rdmac():
		return wrong("Enhanced", c.Enhanced,
			"EnhancedAuto or EnhancedNever with version 0, which has none")
	case c.ManualReads && !c.wantsEnhanced():
		return wrong("ManualReads", c.ManualReads, "false without enhanced setup")
	case c.PeerToPeer && !c.wantsEnhanced():
		return wrong("PeerToPeer", c.PeerToPeer, "false without enhanced setup")
	}
	return c.checkPrivate(private, c.wantsEnhanced())
}

// validate makes the checks that both sides share.
func (c *Config) validate() error {
	switch {
	case c.IRD < 0 || c.IRD > MaxReads:
		return wrong("IRD", c.IRD, "from 0 to %d", MaxReads)
	case c.ORD < 0 || c.ORD > MaxReads:
		return wrong("ORD", c.ORD, "from 0 to %d", MaxReads)
	case c.RequiredORD < 0 || c.RequiredORD > c.ORD:
		return wrong("RequiredORD", c.RequiredORD, "from 0 to ORD, %d", c.ORD)
	case c.RTR&^rtrAll != 0:
		return wrong("RTR", uint8(c.RTR), "some of RTRSend, RTRWrite and RTRRead, or 0 for all")
	case c.Enhanced > EnhancedNever:
		return wrong("Enhanced", uint8(c.Enhanced), "EnhancedAuto, EnhancedRequired or EnhancedNever")
	case c.ManualReads && c.RequiredORD > 0:
		return wrong("RequiredORD", c.RequiredORD, "0 with ManualReads")
	case c.PrivateLimit != 0 && (c.PrivateLimit < EnhancedDataLen || c.PrivateLimit > MaxPrivateData):
		return wrong("PrivateLimit", c.PrivateLimit,
			"from %d to %d, or 0 for the default", EnhancedDataLen, MaxPrivateData)
	}
	return c.validateRNIC()
}

// wrong returns an ErrConfig about a field.
func wrong(field string, value any, want string, args ...any) error {
	want = fmt.Sprintf(want, args...)
	return fmt.Errorf("%w: Config.%s is %v: it must be %s", ErrConfig, field, value, want)
}

// checkPrivate checks that private data fits in a frame.
func (c *Config) checkPrivate(private []byte, enhanced bool) error {
	limit := MaxPrivateData
	if c.PrivateLimit > 0 {
		limit = c.PrivateLimit
	}
	if enhanced {
		limit -= EnhancedDataLen
	}
	if len(private) > limit {
		return fmt.Errorf("%w: %d bytes, at most %d fit", transport.ErrPrivateData, len(private), limit)
	}
	return nil
}
