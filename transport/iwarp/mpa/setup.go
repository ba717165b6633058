package mpa

import (
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
)

// UnenhancedORD limits the RDMA Reads outstanding at a peer that did not say how many it takes
// because the setup was not enhanced. It is a guess: few enough for what adapters have.
const UnenhancedORD = 8

// Enhanced says whether a side does enhanced setup (RFC 6581).
type Enhanced uint8

const (
	// EnhancedAuto has an initiator ask for it, and a responder do it if asked.
	EnhancedAuto Enhanced = iota
	// EnhancedRequired is EnhancedAuto for a caller who would not do without. A responder must
	// accept unenhanced requests (RFC 6581 section 10), and does.
	EnhancedRequired
	// EnhancedNever has an initiator send revision 1, and a responder, of any RNIC, give enhanced
	// requests no answer.
	EnhancedNever
)

// String names the value.
func (e Enhanced) String() string { return named("enhanced", e, "auto", "required", "never") }

// named is the name of a value, or of what kind it is if it has none.
func named[T ~uint8](kind string, v T, names ...string) string {
	if int(v) < len(names) {
		return names[v]
	}
	return fmt.Sprintf("%s %d", kind, v)
}

// Config is what one side of a connection is set to.
type Config struct {
	// IRD and ORD are the limits of this side, 0 to MaxReads: of RDMA Reads that the peer, and
	// that this side, may have outstanding.
	IRD, ORD int

	// RequiredORD is the least ORD a responder can do with. An enhanced request with a smaller IRD
	// is rejected, naming this number (RFC 6581 section 9.1).
	RequiredORD int

	// ManualReads leaves IRD and ORD to the upper layer (RFC 6581 section 9.1): ReadsManual is sent
	// for both, and the limits of this side are left as they are.
	ManualReads bool

	Enhanced Enhanced

	// PeerToPeer has an initiator ask for the peer-to-peer model: it sends an RTR, after which
	// either side may speak first. Responders go by the request.
	PeerToPeer bool

	// RTR is the kinds that an initiator can send, or a responder take. Zero means all.
	RTR RTR

	// OneRTR has a responder name one of the kinds of RTR that the initiator offers, rather than
	// all that it takes: a Write if it can, else a Read, else a Send. Some initiators send what
	// they cannot if more are named.
	OneRTR bool

	// CRC asks for CRC32C. It is used if either side asks.
	CRC bool

	// RNIC is the kind of adapter that this side is. Of the versions of DDP and RDMAP that it has,
	// Version may ask for one.
	RNIC    RNIC
	Version Version

	// Markers is what this side wants in what it receives.
	Markers Markers

	// PrivateLimit is the most private data in bytes that is sent, enhanced data included: some
	// peers drop connections with more than they expect. Zero means MaxPrivateData.
	PrivateLimit int

	// Draft05 is the dialect of draft-ietf-storm-mpa-peer-connect-05, the predecessor of RFC 6581.
	// A responder's IRD is not above the initiator's ORD, but for an RTR by Read; if it takes none
	// of the kinds of RTR that the initiator offers, it names none, and the first message has to be
	// a Send (section 9 of the draft). Peers that do so are understood without it.
	Draft05 bool
}

// Setup is what the two sides have agreed on. Its PrivateData is without the enhanced data.
type Setup struct {
	ddp.Setup

	Revision int // of MPA: 0 to 2, that of the reply; with 0 goes version 0 of DDP and RDMAP
	Enhanced bool
	CRC      bool // FPDUs carry CRC32C, both ways

	// MarkersIn and MarkersOut tell whether there are markers in what is received, and in what is
	// sent.
	MarkersIn, MarkersOut bool

	// as the peer said them, be it ReadsManual; -1 if the setup was not enhanced
	PeerIRD, PeerORD int

	PeerToPeer bool
}

// ValidateResponder finds what a responder cannot mean, with an error that wraps ErrConfig. Accept
// and Reject do the same, when it is late.
func (c *Config) ValidateResponder() error {
	if err := c.validate(); err != nil {
		return err
	}
	if c.takes() == 0 {
		return wrong("IRD", c.IRD, "1 or more for an RTR by Read")
	}
	return nil
}

// ValidateInitiator finds what an initiator cannot mean, and what it does not have, with an error
// that wraps ErrConfig, and private data that it cannot send, with one that wraps
// transport.ErrPrivateData. Initiate does the same, when there is a connection already.
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

// validate finds what neither side can mean.
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

// wrong is an ErrConfig about a field.
func wrong(field string, value any, want string, args ...any) error {
	want = fmt.Sprintf(want, args...)
	return fmt.Errorf("%w: Config.%s is %v: it must be %s", ErrConfig, field, value, want)
}

// checkPrivate tells whether private data fits in a frame.
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
