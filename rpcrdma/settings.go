package rpcrdma

import (
	"math/bits"

	"github.com/rpcrdma/go-rpcrdma/chunks"
)

// Settings are values that the two ends of a connection may change while it is up, with the
// Connection Configuration Protocol (draft section 6.2; package confproto). Sizes are those of
// whole Sends in bytes, headers included. Each direction of calls has its own sizes, because each
// end may configure its own calls.
type Settings struct {
	MaxSend      int // the largest call that this side sends inline
	MaxRecv      int // the largest reply that this side expects inline
	MaxReplySend int // the largest reply that this side sends inline
	MaxCallRecv  int // the largest call that this side expects inline
	Reads        int // RDMA Reads that this side may have under way at the peer; 0: none
	PeerReads    int // RDMA Reads that the peer may have under way here; 0: none
	Align        int // alignment of this side's receives in bytes; 0: none
	PeerAlign    int // alignment in bytes of opaque data sent to the peer; 0: no padding
}

// initial returns the first Settings: what the two ends said in their private data, or else the
// draft's basic level (section 6.1).
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

// Settings returns the settings in force.
func (c *Conn) Settings() Settings { return *c.settings.Load() }

// EnlargeReceives asks for receives of n bytes, up to MaxInline, from now on. It returns the
// largest Send that the peer may now make. That is less than n if memory is short, or if shorter
// receives are posted already, because these cannot be recalled. It is more if receives are longer
// already.
//
// Call it in the handler of a call, or just before a call while no other is under way.
func (c *Conn) EnlargeReceives(n int) int {
	return c.flow.enlarge(min(max(n, DefaultInline), MaxInline))
}

// UpdateSettings puts into force what the two ends have agreed on. It calls change with the
// settings in force, for change to modify. PeerReads and Align stay as they are; other values are
// clamped to the possible range. The result holds for calls and replies that are planned from now
// on.
//
// No other update happens while change runs, so change must be short and must not call
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

// maxSend returns the largest possible Send in bytes, whatever the ends agree on.
func (c *Conn) maxSend() int {
	if n := c.info.MaxMessage; n > 0 {
		return min(n, MaxInline)
	}
	return MaxInline
}

// padTo returns the alignment to use when align was asked for; 0 for none. XDR aligns to four bytes
// anyway.
func (c *Conn) padTo(align int) int {
	if c.draft == nil || align <= 4 || align > MaxInline/2 || bits.OnesCount(uint(align)) != 1 {
		return 0
	}
	return align
}

// limits returns the limits for planning a call, or a reply. The largest Send is send.
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
