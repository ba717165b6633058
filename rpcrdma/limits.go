package rpcrdma

import (
	"math/bits"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// initial returns the first Settings: what the two ends said in their private data, or else the
// draft's basic level (section 6.1).
func (l *link) initial() *Settings {
	s := &Settings{
		MaxSend:   min(l.cfg.InlineSend, l.peer.Recv),
		MaxRecv:   min(l.cfg.InlineRecv, l.peer.Send),
		Reads:     l.info.ORD,
		PeerReads: l.info.IRD,
		Align:     l.cfg.Align,
	}
	s.MaxReplySend, s.MaxCallRecv = s.MaxSend, s.MaxRecv
	s.PeerAlign = l.padTo(l.cfg.PeerAlign)
	return s
}

// maxSend returns the largest possible Send in bytes, whatever the ends agree on.
func (l *link) maxSend() int {
	if n := l.info.MaxMessage; n > 0 {
		return min(n, MaxInline)
	}
	return MaxInline
}

// padTo returns the alignment to use when align was asked for; 0 for none. XDR aligns to four bytes
// anyway.
func (l *link) padTo(align int) int {
	if !l.isDraft() || align <= 4 || align > MaxInline/2 || bits.OnesCount(uint(align)) != 1 {
		return 0
	}
	return align
}

// limits returns the limits for planning a call, or a reply. The largest Send is send.
func (l *link) limits(s *Settings, send int) chunks.Limits {
	return chunks.Limits{
		InlineSend:    send,
		InlineRecv:    s.MaxRecv,
		MinChunk:      l.cfg.MinChunk,
		ChunkFrom:     l.cfg.ChunkFrom,
		SegmentSize:   l.cfg.SegmentSize,
		RegionSize:    l.info.MaxRegion,
		NoReads:       s.PeerReads == 0,
		NoReplyChunks: l.cfg.NoReplyChunks,
	}
}

// split appends the segments of regions to dst.
func (l *link) split(dst []chunks.Segment, regions []transport.Region) []chunks.Segment {
	for _, r := range regions {
		dst = chunks.AppendSegments(dst, uint32(r.STag), r.Base, int(r.Len), l.cfg.SegmentSize)
	}
	return dst
}
