package mpa

import (
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
)

// RNIC is the kind of adapter that a side is: which versions of DDP and RDMAP it has
// (draft-carrier-rddp-rnic-interop-00 section 5.1, Figure 1). Version 0 is that of the RDMA
// Consortium, from before the IETF's; it is taken to be version 1 but for the numbers, as section 3
// of the draft has it.
type RNIC uint8

const (
	// NonPermissive has version 1 alone: the IETF's protocols.
	NonPermissive RNIC = iota
	// Permissive has version 1, and version 0 for peers that have no other.
	Permissive
	// RDMAC has version 0 alone, and needs markers and CRC.
	RDMAC
)

// String names the kind as the draft does.
func (r RNIC) String() string { return named("RNIC", r, "non-permissive", "permissive", "RDMAC") }

// Version asks for a version of DDP and RDMAP, which is always the same for both.
type Version uint8

const (
	// VersionAny leaves it to the RNIC and the peer.
	VersionAny Version = iota
	// VersionRDMAC is version 0. Markers and CRC come with it.
	VersionRDMAC
	// VersionIETF is version 1.
	VersionIETF
)

// String is the number of the version, as in Setup.Version, or "any".
func (v Version) String() string { return named("version", v, "any", "0 (RDMAC)", "1 (IETF)") }

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

// Capabilities is what can be known of a side before it has a peer
// (draft-carrier-rddp-rnic-interop-00 section 6.2.1).
type Capabilities struct {
	Markers    bool // whether it wants them in what it receives
	Version    int  // of DDP and RDMAP, if the peer does not need another
	Selectable bool // the RNIC has both versions, and may have another for each endpoint
}

// Capabilities of a side that is set to c.
func (c *Config) Capabilities() Capabilities {
	if c.rdmac() {
		return Capabilities{Markers: true, Version: ddp.VersionRDMAC, Selectable: c.RNIC == Permissive}
	}
	return Capabilities{Markers: c.wantsMarkers(), Version: ddp.Version, Selectable: c.RNIC == Permissive}
}

// rdmac reports whether this side is an RDMAC RNIC to its peer.
func (c *Config) rdmac() bool { return c.RNIC == RDMAC || c.Version == VersionRDMAC }

// takesRDMAC reports whether this side can have an RDMAC RNIC for a peer.
func (c *Config) takesRDMAC() bool {
	return c.rdmac() || c.RNIC == Permissive && c.Version == VersionAny
}

// wantsMarkers is the M bit of this side.
func (c *Config) wantsMarkers() bool { return c.rdmac() || c.Markers == MarkersOn }

// wantsCRC is the C bit of this side.
func (c *Config) wantsCRC() bool { return c.rdmac() || c.CRC }

// wantsEnhanced reports whether this side, as initiator, asks for enhanced setup.
func (c *Config) wantsEnhanced() bool { return !c.rdmac() && c.Enhanced != EnhancedNever }

// validateRNIC finds what the kind of adapter does not have (draft-carrier-rddp-rnic-interop-00
// sections 6.2.3 and 6.2.6).
func (c *Config) validateRNIC() error {
	switch {
	case c.RNIC > RDMAC:
		return wrong("RNIC", uint8(c.RNIC), "NonPermissive, Permissive or RDMAC")
	case c.Version > VersionIETF:
		return wrong("Version", uint8(c.Version), "VersionAny, VersionRDMAC or VersionIETF")
	case c.Markers > MarkersOff:
		return wrong("Markers", uint8(c.Markers), "MarkersAuto, MarkersOn or MarkersOff")
	case c.RNIC == NonPermissive && c.Version == VersionRDMAC, c.RNIC == RDMAC && c.Version == VersionIETF:
		return fmt.Errorf("%w: %v, by an RNIC that is %v", ErrVersion, c.Version, c.RNIC)
	case c.rdmac() && c.Markers == MarkersOff:
		return fmt.Errorf("%w: version 0 has them always", ErrMarkersNeeded)
	}
	return nil
}

// unusable says why no connection can come of a frame of the peer's, because of its revision.
// Revision 0 is that of RDMAC peers, who need markers. (With revision 0 and without markers comes
// who follows early drafts of RFC 5044; nobody is known to.)
func (c *Config) unusable(f *Frame) error {
	switch {
	case f.Revision > maxRevision:
		return fmt.Errorf("%w: %d", ErrRevision, f.Revision)
	case f.Revision == 0 && !c.takesRDMAC():
		return fmt.Errorf("%w: 0, of an RDMA Consortium peer, which a permissive RNIC could take", ErrRevision)
	case f.Revision == 0 && !f.Markers:
		return fmt.Errorf("%w: 0 without markers", ErrRevision)
	}
	return nil
}

// settle enters into s what follows from the revision that is agreed on, and from the M and C bits
// of this side and of the peer's frame: each direction has markers if its receiver wants them, and
// CRC is used if either side wants it (RFC 5044 section 7.1). With version 0 everything is on.
func (c *Config) settle(s *Setup, peer *Frame) {
	s.Version = ddp.Version
	if s.Revision == 0 {
		s.Version = ddp.VersionRDMAC
	}
	all := s.Version == ddp.VersionRDMAC
	s.MarkersIn = c.wantsMarkers() || all
	s.MarkersOut = peer.Markers || all
	s.CRC = c.wantsCRC() || peer.CRC || all
}
