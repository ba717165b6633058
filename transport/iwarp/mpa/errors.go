package mpa

import (
	"errors"
	"fmt"
)

// The MPA error codes of a Terminate message, with layer 2 and error type 0 (RFC 5044 section 8,
// RFC 6581 section 8). Not all of them come from the startup.
const (
	CodeLost   uint8 = 1 // TCP connection closed, terminated or lost
	CodeCRC    uint8 = 2 // CRC of an FPDU is wrong
	CodeMarker uint8 = 3 // marker and ULPDU length do not agree
	CodeFrame  uint8 = 4 // invalid MPA Request or MPA Reply
	CodeLocal  uint8 = 5 // local catastrophic error, or one without a code of its own
	CodeIRD    uint8 = 6 // insufficient IRD resources
	CodeRTR    uint8 = 7 // no matching RTR option
)

// terminateCode returns the first 16 bits of a Terminate message with one of these codes.
func terminateCode(code uint8) uint16 { return 2<<12 | uint16(code) }

// Errors that a caller may want to tell apart. Those that the peer causes come in a *StartupError.
var (
	// ErrUnenhanced: the responder does not know enhanced setup (RFC 6581 section 10). The caller
	// may dial again with EnhancedNever.
	ErrUnenhanced = errors.New("peer does not support enhanced setup")
	// ErrEnhanced: an initiator asked a responder with EnhancedNever for enhanced setup.
	ErrEnhanced = errors.New("peer asks for enhanced setup")
	// ErrFrame: what the peer sent is not a startup frame, or not one that can be answered.
	ErrFrame = errors.New("bad startup frame")
	// ErrNotMPA: what the peer sent does not begin like a startup frame. It comes with ErrFrame.
	ErrNotMPA = errors.New("peer does not speak MPA")
	// ErrRevision: the peer speaks a revision of MPA that cannot be used.
	ErrRevision = errors.New("unusable MPA revision")
	// ErrConnectionModel: the reply has another connection model than the request (RFC 6581 section
	// 9.2).
	ErrConnectionModel = errors.New("peer replied with another connection model")
	// ErrInsufficientIRD: the IRD of the initiator does not cover the responder's ORD (RFC 6581
	// section 9.1).
	ErrInsufficientIRD = errors.New("insufficient IRD")
	// ErrNoMatchingRTR: the initiator can send no RTR that the responder takes (RFC 6581 section
	// 9.2). If the peer finds this, or ErrInsufficientIRD, its Terminate message says so instead.
	ErrNoMatchingRTR = errors.New("no matching RTR")
	// ErrConfig: a Config contradicts itself, or has values out of range.
	ErrConfig = errors.New("bad MPA configuration")
	// ErrVersion: the RNIC does not have the requested version of DDP and RDMAP
	// (draft-carrier-rddp-rnic-interop-00 section 6.2.3). It wraps ErrConfig.
	ErrVersion = fmt.Errorf("%w: DDP and RDMAP version not supported", ErrConfig)
	// ErrMarkersNeeded: markers cannot be disabled (the same section). It wraps ErrConfig.
	ErrMarkersNeeded = fmt.Errorf("%w: disabling markers not supported", ErrConfig)
	// ErrSnapshot: Accept or Reject was called on a Snapshot.
	ErrSnapshot = errors.New("a copy of a request cannot answer it")
	// ErrAnswered: Accept or Reject was called twice on one Request.
	ErrAnswered = errors.New("request already answered")
)

// StartupError is a setup that failed because of the peer or the connection. The caller closes the
// connection.
type StartupError struct {
	// Code is the MPA error code for this failure.
	Code uint8
	// Terminate says that the peer expects FPDUs, since it has accepted. So a Terminate message can
	// tell it.
	Terminate bool
	CRC       bool // whether FPDUs for the peer, such as that Terminate, carry CRC32C
	Markers   bool // whether they carry markers

	// PeerIRD and PeerORD are what a responder that has accepted said (RFC 6581 section 9.1), or
	// -1.
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

// RejectError is a refusal by the responder: a reply with the R bit.
type RejectError struct {
	PrivateData []byte // without the enhanced data
	Enhanced    bool   // the responder has said its IRD and ORD
	PeerIRD     int    // as the responder said it, or -1
	PeerORD     int    // likewise; possibly the ORD that the responder needs

	// Err wraps ErrRevision if the revision of the reply is the reason, and is nil otherwise.
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

// frameError returns an ErrFrame with the reason.
func frameError(err error) error { return fmt.Errorf("%w: %w", ErrFrame, err) }
