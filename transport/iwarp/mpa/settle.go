package mpa

import (
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
)

// Markers is what a side wants of the stream that it receives. What it sends has markers if the
// peer wants them.
type Markers uint8

const (
	// MarkersAuto is without, except with version 0.
	MarkersAuto Markers = iota
	// MarkersOn is with markers.
	MarkersOn
	// MarkersOff is without. An RDMAC side cannot have that, nor one with VersionRDMAC. A
	// Permissive side has markers all the same towards an RDMAC peer.
	MarkersOff
)

// String names the value.
func (m Markers) String() string { return named("markers", m, "auto", "on", "off") }

// wantsMarkers is the M bit of this side.
func (c *Config) wantsMarkers() bool { return c.rdmac() || c.Markers == MarkersOn }

// wantsCRC is the C bit of this side.
func (c *Config) wantsCRC() bool { return c.rdmac() || c.CRC }

// wantsEnhanced reports whether this side, as initiator, asks for enhanced setup.
func (c *Config) wantsEnhanced() bool { return !c.rdmac() && c.Enhanced != EnhancedNever }

// unusable says why no connection can come of a frame of the peer's, because of its revision.
func (c *Config) unusable(f *Frame) error {
	switch {
	case f.Revision > maxRevision:
		return fmt.Errorf("%w: %d", ErrRevision, f.Revision)
	case f.Revision == 0:
		return c.unusable0(f)
	}
	return nil
}

// settle enters into s what follows from the revision that is agreed on, and from the M and C bits
// of this side and of the peer's frame: each direction has markers if its receiver wants them, and
// CRC is used if either side wants it (RFC 5044 section 7.1).
func (c *Config) settle(s *Setup, peer *Frame) {
	s.Version = ddp.Version
	s.MarkersIn = c.wantsMarkers()
	s.MarkersOut = peer.Markers
	s.CRC = c.wantsCRC() || peer.CRC
	if s.Revision == 0 {
		s.settle0()
	}
}
