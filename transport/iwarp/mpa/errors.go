package mpa

import (
	"errors"
	"fmt"
)

// MPA error codes of a Terminate message, with layer 2 and error type 0 (RFC 5044 section 8,
// RFC 6581 section 8): all there are, though not all come of the startup.
const (
	CodeLost   uint8 = 1 // TCP connection closed, terminated or lost
	CodeCRC    uint8 = 2 // CRC of an FPDU is wrong
	CodeMarker uint8 = 3 // marker and ULPDU length do not agree
	CodeFrame  uint8 = 4 // invalid MPA Request or MPA Reply
	CodeLocal  uint8 = 5 // local catastrophic error, or one without a code of its own
	CodeIRD    uint8 = 6 // insufficient IRD resources
	CodeRTR    uint8 = 7 // no matching RTR option
)

// terminateCode is what a Terminate message with one of them begins with.
func terminateCode(code uint8) uint16 { return 2<<12 | uint16(code) }

// What a caller may want to branch on. Those that the peer causes come in a *StartupError.
var (
	// ErrUnenhanced: the responder does not know enhanced setup (RFC 6581 section 10). The caller
	// may dial again with EnhancedNever.
	ErrUnenhanced = errors.New("peer does not do enhanced setup")
	// ErrEnhanced: an initiator asked a responder with EnhancedNever for enhanced setup.
	ErrEnhanced = errors.New("peer asks for enhanced setup")
	// ErrFrame: what the peer sent is not a startup frame, or not one that can be answered.
	ErrFrame = errors.New("bad startup frame")
	// ErrNotMPA: what the peer sent does not begin as a startup frame does. It comes below
	// ErrFrame.
	ErrNotMPA = errors.New("peer does not speak MPA")
	// ErrRevision: the peer speaks a revision of MPA that cannot be used.
	ErrRevision = errors.New("unusable MPA revision")
	// ErrConnectionModel: the reply is of another connection model than the request (RFC 6581
	// section 9.2).
	ErrConnectionModel = errors.New("peer replied with another connection model")
	// ErrInsufficientIRD: the IRD of the initiator does not cover the responder's ORD (RFC 6581
	// section 9.1).
	ErrInsufficientIRD = errors.New("insufficient IRD")
	// ErrNoMatchingRTR: the initiator can send no RTR that the responder takes (RFC 6581 section
	// 9.2). Where it is the peer that finds this, or the former, that is in its Terminate message.
	ErrNoMatchingRTR = errors.New("no matching RTR")
	// ErrConfig: a Config that contradicts itself, or has values out of range.
	ErrConfig = errors.New("bad MPA configuration")
	// ErrVersion: the RNIC does not have the version of DDP and RDMAP that is asked for
	// (draft-carrier-rddp-rnic-interop-00 section 6.2.3). It wraps ErrConfig.
	ErrVersion = fmt.Errorf("%w: DDP and RDMAP version not supported", ErrConfig)
	// ErrMarkersNeeded: markers cannot be disabled (the same section). It wraps ErrConfig.
	ErrMarkersNeeded = fmt.Errorf("%w: disabling markers not supported", ErrConfig)
	// ErrSnapshot: Accept or Reject of a Snapshot.
	ErrSnapshot = errors.New("a copy of a request cannot answer it")
	// ErrAnswered: a second Accept or Reject of one Request.
	ErrAnswered = errors.New("request already answered")
)

// StartupError is a setup that failed through the peer or the connection. The caller closes the
// connection.
type StartupError struct {
	// Code is the MPA error code that fits.
	Code uint8
	// Terminate is set if the peer can be told by a Terminate message: it has accepted, and so
	// expects FPDUs.
	Terminate bool
	CRC       bool // of the Terminate: whether the two sides have agreed on CRC32C
	Markers   bool // likewise: whether the peer wants markers

	// PeerIRD and PeerORD are what a responder that has accepted said (RFC 6581 section 9.1), -1 if
	// nothing.
	PeerIRD, PeerORD int
	Err              error
}

func (e *StartupError) Error() string { return "MPA startup: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *StartupError) Unwrap() error { return e.Err }

// Timeout reports whether the cause was a timeout, as net.Error does.
func (e *StartupError) Timeout() bool {
	var t interface{ Timeout() bool }
	return errors.As(e.Err, &t) && t.Timeout()
}

// RejectError is a responder's refusal: a reply with the R bit.
type RejectError struct {
	PrivateData []byte // without the enhanced data
	Enhanced    bool   // the responder has said its IRD and ORD
	PeerIRD     int    // of the responder as it said it, or -1
	PeerORD     int    // likewise; it may be what the responder would have needed

	// Err is ErrRevision if the revision of the reply says why, and otherwise nil.
	Err error
}

func (e *RejectError) Error() string {
	s := "MPA startup: rejected by peer"
	if e.Enhanced {
		s += fmt.Sprintf(" (IRD %d, ORD %d)", e.PeerIRD, e.PeerORD)
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns Err.
func (e *RejectError) Unwrap() error { return e.Err }

// frameError says what is bad about a frame.
func frameError(err error) error { return fmt.Errorf("%w: %w", ErrFrame, err) }
