package mpa

import "fmt"

// RNIC is the kind of adapter that a side is: which versions of DDP and RDMAP it has (draft-carrier-rddp-rnic-interop-00 section 5.1,
// Figure 1). Version 0 is that of the RDMA Consortium, from before the IETF's; it is taken to be version 1 but for the numbers, as section 3 of
// the draft has it.
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
func (r RNIC) String() string {
	switch r {
	case NonPermissive:
		return "non-permissive"
	case Permissive:
		return "permissive"
	case RDMAC:
		return "RDMAC"
	}
	return fmt.Sprintf("RNIC %d", uint8(r))
}

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

// Markers is what a side wants of the stream that it receives. What it sends has markers if the peer wants them.
type Markers uint8

const (
	// MarkersAuto is without, except with version 0.
	MarkersAuto Markers = iota
	// MarkersOn is with markers.
	MarkersOn
	// MarkersOff is without. It cannot be had together with VersionRDMAC. A Permissive side has markers all the same towards an RDMAC peer.
	MarkersOff
)

// Capabilities is what can be known of a side before it has a peer (draft-carrier-rddp-rnic-interop-00 section 6.2.1).
type Capabilities struct {
	Markers    bool // the preference for what it receives
	Version    int  // of DDP and RDMAP
	Selectable bool // each endpoint may have its own version, 0 or 1
}

// Capabilities of a side that is set to c.
func (c *Config) Capabilities() Capabilities {
	if c.rdmac() {
		return Capabilities{Markers: true, Version: 0, Selectable: c.RNIC == Permissive}
	}
	return Capabilities{Markers: c.wantsMarkers(), Version: 1, Selectable: c.RNIC == Permissive}
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

// validateRNIC finds what the kind of adapter does not have (draft-carrier-rddp-rnic-interop-00 sections 6.2.3 and 6.2.6).
func (c *Config) validateRNIC() error {
	switch {
	case c.RNIC > RDMAC || c.Version > VersionIETF || c.Markers > MarkersOff:
		return fmt.Errorf("%w: RNIC %d, version %d, markers %d", ErrConfig, c.RNIC, c.Version, c.Markers)
	case c.RNIC == NonPermissive && c.Version == VersionRDMAC, c.RNIC == RDMAC && c.Version == VersionIETF:
		return fmt.Errorf("%w: an RNIC that is %v has not the one asked for", ErrVersion, c.RNIC)
	case c.rdmac() && c.Markers == MarkersOff:
		return ErrMarkersNeeded
	case c.rdmac() && c.Enhanced == EnhancedRequired:
		return fmt.Errorf("%w: enhanced setup needs version 1", ErrConfig)
	case c.rdmac() && (c.ManualReads || c.PeerToPeer):
		return errNeedEnhanced
	}
	return nil
}

// unusable says why no connection can come of a frame of the peer's, because of its revision. Revision 0 is that of RDMAC peers, who need markers. (With
// revision 0 and without markers comes who follows early drafts of RFC 5044; nobody is known to.)
func (c *Config) unusable(f *Frame) error {
	switch {
	case f.Revision > maxRevision, f.Revision == 0 && !c.takesRDMAC():
		return fmt.Errorf("%w: %d", ErrRevision, f.Revision)
	case f.Revision == 0 && !f.Markers:
		return fmt.Errorf("%w: 0 without markers", ErrRevision)
	}
	return nil
}

// settle enters into s what follows from the version of DDP and RDMAP, and from the M and C bits of this side and of the peer's frame: each
// direction has markers if its receiver wants them, and CRC is used if either side wants it (RFC 5044 section 7.1). With version 0 everything is
// on.
func (c *Config) settle(s *Setup, peer *Frame, version int) {
	s.Version = version
	s.MarkersIn = c.wantsMarkers() || version == 0
	s.MarkersOut = peer.Markers || version == 0
	s.CRC = c.wantsCRC() || peer.CRC || version == 0
}
