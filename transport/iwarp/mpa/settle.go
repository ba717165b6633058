package mpa

import (
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
)

// Markers says whether a side wants markers in what it receives. What it sends has markers if the
// peer wants them.
type Markers uint8

const (
	// MarkersAuto means no markers, except with version 0.
	MarkersAuto Markers = iota
	// MarkersOn means markers.
	MarkersOn
	// MarkersOff means no markers. It is an error for an RDMAC side and with VersionRDMAC. A
	// Permissive side gets markers from an RDMAC peer all the same.
	MarkersOff
)

// String names the value.
func (m Markers) String() string { return named("markers", m, "auto", "on", "off") }

// wantsMarkers returns the M bit of this side.
func (c *Config) wantsMarkers() bool { return c.rdmac() || c.Markers == MarkersOn }

// wantsCRC returns the C bit of this side.
func (c *Config) wantsCRC() bool { return c.rdmac() || c.CRC }

// wantsEnhanced reports whether this side, as initiator, asks for enhanced setup.
func (c *Config) wantsEnhanced() bool { return !c.rdmac() && c.Enhanced != EnhancedNever }

// unusable returns an error if the revision of the peer's frame makes a connection impossible.
func (c *Config) unusable(f *Frame) error {
	switch {
	case f.Revision > maxRevision:
		return fmt.Errorf("%w: %d", ErrRevision, f.Revision)
	case f.Revision == 0:
		return c.unusable0(f)
	}
	return nil
}

// settle enters into s what follows from the agreed revision and from the M and C bits of both
// sides: each direction has markers if its receiver wants them, and CRC is used if either side
// wants it (RFC 5044 section 7.1).
func (c *Config) settle(s *Setup, peer *Frame) {
	s.Version = ddp.Version
	s.MarkersIn = c.wantsMarkers()
	s.MarkersOut = peer.Markers
	s.CRC = c.wantsCRC() || peer.CRC
	if s.Revision == 0 {
		s.settle0()
	}
}
