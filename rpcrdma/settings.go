package rpcrdma

import (
	"math/bits"

	"github.com/rpcrdma/go-rpcrdma/chunks"
)

// Settings are the values of a connection that its ends may change while it is up, with the
// Connection Configuration Protocol (draft section 6.2; package confproto). Sizes are in bytes,
// those of whole Sends with their headers. Each end may configure what concerns its own calls, so
// these and the peer's have sizes of their own.
type Settings struct {
	MaxSend      int // the largest Send to the peer that is a call
	MaxRecv      int // the largest that is expected as the reply to one
	MaxReplySend int // the largest Send to the peer that is a reply
	MaxCallRecv  int // the largest that is expected of the peer as a call
	// RDMA Reads that this side may have under way at the peer; 0: none are possible
	Reads     int
	PeerReads int // RDMA Reads that the peer may have under way here
	Align     int // alignment of this side's receives; 0: none
	PeerAlign int // alignment that opaque data is padded to for the peer; 0: it is not padded
}

// initial returns what is in force at the beginning: the draft's basic level (section 6.1), or what
// the two ends have said in their private data.
func (c *Conn) initial() *Settings {
	s := &Settings{
		MaxSend:   min(c.cfg.InlineSend, c.peer.Recv),
		MaxRecv:   min(c.cfg.InlineRecv, c.peer.Send),
		Reads:     c.info.ORD,
		PeerReads: c.info.IRD,
		Align:     c.cfg.Align,
	}
	s.MaxReplySend, s.MaxCallRecv = s.MaxSend, s.MaxRecv
	s.PeerAlign = c.padTo(c.cfg.PeerAlign)
	return s
}

// Settings returns what is in force.
func (c *Conn) Settings() Settings { return *c.settings.Load() }

// EnlargeReceives asks for receives of n bytes, up to MaxInline, and returns the largest Send that
// the peer may make from now on: n, or less if receives are posted already that are shorter and
// cannot be recalled, or if memory is short, or more if they are longer. It is called by the
// handler of a call, or by who is about to make one while no other is under way.
func (c *Conn) EnlargeReceives(n int) int {
	return c.flow.enlarge(min(max(n, DefaultInline), MaxInline))
}

// UpdateSettings puts values into force that the two ends have named: change gets what is in force,
// and changes it. PeerReads and Align are this side's own, and stay; each of the others is brought
// into the range that is possible. It affects calls and replies that are laid out from now on.
// Nothing else changes what is in force meanwhile, so change must be short, and not call
// UpdateSettings.
func (c *Conn) UpdateSettings(change func(*Settings)) {
	c.agreeing.Lock()
	defer c.agreeing.Unlock()
	now := *c.settings.Load()
	s := now
	change(&s)
	longest := c.flow.longest()
	now.MaxSend = min(max(s.MaxSend, DefaultInline), c.maxSend())
	now.MaxRecv = min(max(s.MaxRecv, DefaultInline), longest)
	now.MaxReplySend = min(max(s.MaxReplySend, DefaultInline), c.maxSend())
	now.MaxCallRecv = min(max(s.MaxCallRecv, DefaultInline), longest)
	now.Reads = min(max(s.Reads, 0), c.info.ORD)
	now.PeerAlign = c.padTo(s.PeerAlign)
	c.settings.Store(&now)
	c.gate.set(max(1, now.Reads)) // at zero those that wait already go one by one
}

// maxSend is the largest Send in bytes that is possible, whatever the ends agree on.
func (c *Conn) maxSend() int {
	if n := c.info.MaxMessage; n > 0 {
		return min(n, MaxInline)
	}
	return MaxInline
}

// padTo returns the alignment that data is padded to, 0 for none: XDR aligns to four bytes anyway.
func (c *Conn) padTo(align int) int {
	if c.draft == nil || align <= 4 || align > MaxInline/2 || bits.OnesCount(uint(align)) != 1 {
		return 0
	}
	return align
}

// limits is what the layout of a call keeps to, or that of a reply: send is the largest Send.
func (c *Conn) limits(s *Settings, send int) chunks.Limits {
	return chunks.Limits{
		InlineSend:    send,
		InlineRecv:    s.MaxRecv,
		MinChunk:      c.cfg.MinChunk,
		ChunkFrom:     c.cfg.ChunkFrom,
		SegmentSize:   c.cfg.SegmentSize,
		RegionSize:    c.info.MaxRegion,
		NoReads:       s.PeerReads == 0,
		NoReplyChunks: c.cfg.NoReplyChunks,
	}
}
