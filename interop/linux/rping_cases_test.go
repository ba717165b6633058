//go:build interop

package linux

import (
	"github.com/rpcrdma/go-rpcrdma/interop/internal/rping"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
)

// role is the role of the kernel.
type role int

const (
	client role = iota
	server
)

func (r role) String() string { return [...]string{"client", "server"}[r] }

// rpingCase is one connection between the kernel's rping and ours.
type rpingCase struct {
	name   string
	kernel role
	cfg    iwarp.Config // ours
	count  int          // 0: 20
	size   int          // 0: rping.DefaultSize
	// createQP has rping as server create its queue pair itself (-q), and say that it wants an ORD
	// of 1. Otherwise it takes that from the request, and gets 0 with one that is not enhanced:
	// then it can read nothing.
	createQP bool
	// refused are dials that siw refuses, before the one that it accepts.
	refused []refused
	want    agreed
}

// agreed is the part of mpa.Setup that a case checks.
type agreed struct {
	Revision         int
	Enhanced, CRC    bool
	PeerToPeer       bool
	RTR              mpa.RTR
	PeerIRD, PeerORD int
}

// rpingPort is the port of rping in the guest.
const rpingPort = 7174

// siwConfig is the preset for siw, with a change.
func siwConfig(change func(*iwarp.Config)) iwarp.Config {
	cfg := iwarp.SiwConfig()
	change(&cfg)
	return cfg
}

// refused is a dial that siw refuses, and the error.
type refused struct {
	cfg  iwarp.Config
	want mpa.RejectError
}

// markers are dials with markers, which siw lacks: with CRC, without CRC, and with revision 0,
// which requires markers. siw replies with the revision of the request, and says that it allows no
// reads.
var markers = []refused{
	{iwarp.Config{Markers: mpa.MarkersOn, CRC: iwarp.CRCOff}, mpa.RejectError{Enhanced: true}},
	{iwarp.Config{Markers: mpa.MarkersOn, CRC: iwarp.CRCOn}, mpa.RejectError{Enhanced: true}},
	{iwarp.Config{Markers: mpa.MarkersOn, PeerToPeer: true}, mpa.RejectError{Enhanced: true}},
	{iwarp.Config{Markers: mpa.MarkersOn, Enhanced: mpa.EnhancedNever}, mpa.RejectError{PeerIRD: -1, PeerORD: -1}},
	{iwarp.Config{RNIC: mpa.RDMAC}, mpa.RejectError{PeerIRD: -1, PeerORD: -1}},
	{iwarp.Config{RNIC: mpa.Permissive, Version: mpa.VersionRDMAC}, mpa.RejectError{PeerIRD: -1, PeerORD: -1}},
}

// rpingTests has the cases of each variant of siw. As client, rping always has IRD and ORD 1; as
// server it takes what the client offers.
var rpingTests = map[string][]rpingCase{
	stock: {
		{name: "defaults", kernel: client, want: agreed{Revision: 2, Enhanced: true, PeerIRD: 1, PeerORD: 1}},
		{name: "largest pings", kernel: client, size: rping.MaxSize, cfg: iwarp.SiwConfig(),
			want: agreed{Revision: 2, Enhanced: true, PeerIRD: 1, PeerORD: 1}},
		{name: "small segments", kernel: client, size: 9001, cfg: iwarp.Config{MaxSegment: 512},
			want: agreed{Revision: 2, Enhanced: true, PeerIRD: 1, PeerORD: 1}},
		{name: "CRC wanted here", kernel: client, size: 10_007, cfg: iwarp.Config{CRC: iwarp.CRCOn},
			want: agreed{Revision: 2, Enhanced: true, CRC: true, PeerIRD: 1, PeerORD: 1}},

		{name: "defaults", kernel: server, want: agreed{Revision: 2, Enhanced: true, PeerIRD: 16, PeerORD: 16}},
		{name: "largest pings", kernel: server, size: rping.MaxSize, cfg: iwarp.SiwConfig(),
			want: agreed{Revision: 2, Enhanced: true, PeerIRD: 16, PeerORD: 16}},
		{name: "markers refused", kernel: server, refused: markers, want: agreed{Revision: 2, Enhanced: true, PeerIRD: 16, PeerORD: 16}},
		{name: "IRD and ORD", kernel: server, cfg: iwarp.Config{IRD: 3, ORD: 2},
			want: agreed{Revision: 2, Enhanced: true, PeerIRD: 2, PeerORD: 3}},
		{name: "CRC wanted here", kernel: server, size: 10_007, cfg: iwarp.Config{CRC: iwarp.CRCOn},
			want: agreed{Revision: 2, Enhanced: true, CRC: true, PeerIRD: 16, PeerORD: 16}},
		// siw prefers Write
		{name: "peer-to-peer", kernel: server, cfg: siwConfig(func(c *iwarp.Config) { c.PeerToPeer = true }),
			want: agreed{Revision: 2, Enhanced: true, PeerToPeer: true, RTR: mpa.RTRWrite, PeerIRD: 16, PeerORD: 16}},
		{name: "peer-to-peer by Write", kernel: server, cfg: iwarp.Config{PeerToPeer: true, RTR: mpa.RTRWrite},
			want: agreed{Revision: 2, Enhanced: true, PeerToPeer: true, RTR: mpa.RTRWrite, PeerIRD: 16, PeerORD: 16}},
		{name: "peer-to-peer by Read", kernel: server, cfg: iwarp.Config{PeerToPeer: true, RTR: mpa.RTRRead},
			want: agreed{Revision: 2, Enhanced: true, PeerToPeer: true, RTR: mpa.RTRRead, PeerIRD: 16, PeerORD: 16}},
		{name: "peer-to-peer with CRC", kernel: server, cfg: iwarp.Config{PeerToPeer: true, CRC: iwarp.CRCOn},
			want: agreed{Revision: 2, Enhanced: true, CRC: true, PeerToPeer: true, RTR: mpa.RTRWrite, PeerIRD: 16, PeerORD: 16}},
	},
	"crc": {
		{name: "defaults", kernel: client, want: agreed{Revision: 2, Enhanced: true, CRC: true, PeerIRD: 1, PeerORD: 1}},
		{name: "largest pings", kernel: client, size: rping.MaxSize,
			want: agreed{Revision: 2, Enhanced: true, CRC: true, PeerIRD: 1, PeerORD: 1}},
		// As responder it repeats the C bit of the request, even if it requires CRC.
		{name: "CRC wanted here", kernel: server, cfg: iwarp.Config{CRC: iwarp.CRCOn},
			want: agreed{Revision: 2, Enhanced: true, CRC: true, PeerIRD: 16, PeerORD: 16}},
		{name: "largest pings", kernel: server, size: rping.MaxSize, cfg: iwarp.Config{CRC: iwarp.CRCOn},
			want: agreed{Revision: 2, Enhanced: true, CRC: true, PeerIRD: 16, PeerORD: 16}},
	},
	"p2p": {
		{name: "preset", kernel: client, cfg: iwarp.SiwConfig(),
			want: agreed{Revision: 2, Enhanced: true, PeerToPeer: true, RTR: mpa.RTRWrite | mpa.RTRRead, PeerIRD: 1, PeerORD: 1}},
		{name: "RTR by Write", kernel: client, cfg: iwarp.Config{RTR: mpa.RTRWrite},
			want: agreed{Revision: 2, Enhanced: true, PeerToPeer: true, RTR: mpa.RTRWrite, PeerIRD: 1, PeerORD: 1}},
		{name: "RTR by Read", kernel: client, cfg: iwarp.Config{RTR: mpa.RTRRead},
			want: agreed{Revision: 2, Enhanced: true, PeerToPeer: true, RTR: mpa.RTRRead, PeerIRD: 1, PeerORD: 1}},
		{name: "CRC wanted here", kernel: client, size: 10_007, cfg: iwarp.Config{CRC: iwarp.CRCOn},
			want: agreed{Revision: 2, Enhanced: true, CRC: true, PeerToPeer: true, RTR: mpa.RTRWrite | mpa.RTRRead, PeerIRD: 1, PeerORD: 1}},
		{name: "defaults", kernel: server, want: agreed{Revision: 2, Enhanced: true, PeerIRD: 16, PeerORD: 16}},
		{name: "peer-to-peer", kernel: server, cfg: iwarp.Config{PeerToPeer: true},
			want: agreed{Revision: 2, Enhanced: true, PeerToPeer: true, RTR: mpa.RTRWrite, PeerIRD: 16, PeerORD: 16}},
	},
	"mpa1": {
		{name: "defaults", kernel: client, want: agreed{Revision: 1, PeerIRD: -1, PeerORD: -1}},
		{name: "largest pings with CRC", kernel: client, size: rping.MaxSize, cfg: iwarp.Config{CRC: iwarp.CRCOn},
			want: agreed{Revision: 1, CRC: true, PeerIRD: -1, PeerORD: -1}},
		{name: "unenhanced", kernel: server, createQP: true, cfg: iwarp.Config{Enhanced: mpa.EnhancedNever},
			want: agreed{Revision: 1, PeerIRD: -1, PeerORD: -1}},
		{name: "unenhanced largest pings with CRC", kernel: server, createQP: true, size: rping.MaxSize,
			cfg: iwarp.Config{Enhanced: mpa.EnhancedNever, CRC: iwarp.CRCOn}, want: agreed{Revision: 1, CRC: true, PeerIRD: -1, PeerORD: -1}},
		// As responder it accepts revision 2 nevertheless.
		{name: "defaults", kernel: server, want: agreed{Revision: 2, Enhanced: true, PeerIRD: 16, PeerORD: 16}},
	},
}
