package mpa

import (
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
)

// This file holds all about RNICs with version 0 of DDP and RDMAP, that of the RDMA Consortium. It
// was never tested against hardware: no such RNIC was at hand. It was tested between two ends of
// this package, with scripted peers, and on each cell of the figures of
// draft-carrier-rddp-rnic-interop-00.

// RNIC is the kind of adapter that a side presents itself as. It says which versions of DDP and
// RDMAP the side has (draft-carrier-rddp-rnic-interop-00 section 5.1, Figure 1). Version 0 is that
// of the RDMA Consortium, from before the IETF. By section 3 of the draft, it is version 1 with
// another version number.
type RNIC uint8

const (
	// NonPermissive has version 1 only: the protocols of the IETF.
	NonPermissive RNIC = iota
	// Permissive has version 1, and version 0 for peers that have only that.
	Permissive
	// RDMAC has version 0 only, and needs markers and CRC.
	RDMAC
)

// String names the kind as the draft does.
func (r RNIC) String() string { return named("RNIC", r, "non-permissive", "permissive", "RDMAC") }

// Version asks for a version of DDP and RDMAP, which is always the same for both.
type Version uint8

const (
	// VersionAny leaves the choice to the RNIC and the peer.
	VersionAny Version = iota
	// VersionRDMAC is version 0. Markers and CRC come with it.
	VersionRDMAC
	// VersionIETF is version 1.
	VersionIETF
)

// String returns the number of the version, as in Setup.Version, or "any".
func (v Version) String() string { return named("version", v, "any", "0 (RDMAC)", "1 (IETF)") }

// Capabilities is what is known of a side before it has a peer (draft-carrier-rddp-rnic-interop-00
// section 6.2.1).
type Capabilities struct {
	Markers    bool // it wants markers in what it receives
	Version    int  // of DDP and RDMAP, unless the peer needs another
	Selectable bool // the RNIC has both versions, and can choose one for each endpoint
}

// Capabilities returns what is known of a side with this Config before it has a peer.
func (c *Config) Capabilities() Capabilities {
	known := Capabilities{c.wantsMarkers(), ddp.Version, c.RNIC == Permissive}
	if c.rdmac() {
		known.Version = ddp.VersionRDMAC
	}
	return known
}

// rdmac reports whether this side is an RDMAC RNIC to its peer.
func (c *Config) rdmac() bool { return c.RNIC == RDMAC || c.Version == VersionRDMAC }

// revisions returns the lowest and the highest revision of MPA of this side. Revision 0 is that of
// RDMAC sides, which have no other (draft-carrier-rddp-rnic-interop-00 sections 5.2 and 5.3).
func (c *Config) revisions() (lowest, highest int) {
	switch {
	case c.rdmac():
		return 0, 0
	case c.RNIC == Permissive && c.Version == VersionAny:
		return 0, maxRevision
	}
	return 1, maxRevision
}

// validateRNIC returns an error for what the kind of adapter does not have
// (draft-carrier-rddp-rnic-interop-00 sections 6.2.3 and 6.2.6).
func (c *Config) validateRNIC() error {
	switch {
	case c.RNIC > RDMAC:
		return wrong("RNIC", uint8(c.RNIC), "NonPermissive, Permissive or RDMAC")
	case c.Version > VersionIETF:
		return wrong("Version", uint8(c.Version), "VersionAny, VersionRDMAC or VersionIETF")
	case c.Markers > MarkersOff:
		return wrong("Markers", uint8(c.Markers), "MarkersAuto, MarkersOn or MarkersOff")
	case c.RNIC == NonPermissive && c.Version == VersionRDMAC,
		c.RNIC == RDMAC && c.Version == VersionIETF:
		return fmt.Errorf("%w: version %v with RNIC %v", ErrVersion, c.Version, c.RNIC)
	case c.rdmac() && c.Markers == MarkersOff:
		return fmt.Errorf("%w: version 0 always has them", ErrMarkersNeeded)
	}
	return nil
}

// unusable0 returns an error if no connection is possible with a peer that sent a frame of revision
// 0. RDMAC peers need markers. Revision 0 without markers was in early drafts of RFC 5044; no such
// peer is known.
func (c *Config) unusable0(f *Frame) error {
	if lowest, _ := c.revisions(); lowest > 0 {
		return fmt.Errorf("%w: 0, of an RDMA Consortium peer; only RNIC Permissive or RDMAC takes it",
			ErrRevision)
	}
	if !f.Markers {
		return fmt.Errorf("%w: 0 without markers", ErrRevision)
	}
	return nil
}

// settle0 enters into s what follows from revision 0: version 0, with markers and CRC.
func (s *Setup) settle0() {
	s.Version = ddp.VersionRDMAC
	s.MarkersIn, s.MarkersOut, s.CRC = true, true, true
}

// downgrades reports whether this side can do without the enhanced setup that it asked for, because
// the reply is from an RDMAC peer, which knows none (draft-carrier-rddp-rnic-interop-00 section
// 5.3.2).
func (c *Config) downgrades(reply *Frame) bool {
	return reply.Revision == 0 && c.Enhanced == EnhancedAuto && !c.PeerToPeer && !c.ManualReads
}

// rejected0 returns why an RDMAC side was rejected, if the revision of the reply tells.
func (c *Config) rejected0(reply *Frame) error {
	if !c.rdmac() || reply.Revision == 0 {
		return nil
	}
	return fmt.Errorf("%w: %d in reply to 0, so the peer takes no RDMA Consortium peers",
		ErrRevision, reply.Revision)
}
