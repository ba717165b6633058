package rpcrdma

import (
	"fmt"
	"math"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma/internal/memory"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma/internal/wire"
)

// Limits of the fields of a Config, in bytes.
const (
	minSegment = 1 << 10
	// maxSegment keeps the length of a segment within its 32 bits (draft section 4.3).
	maxSegment = 1 << 30
	minMessage = MaxInline
	maxMessage = memory.MaxSize
	// minAlign is the smallest alignment of receives: the first buffer must hold the fixed words
	// that begin each message.
	minAlign     = 64
	minPeerAlign = 8
	maxPeerAlign = 1 << 15
)

// validate returns a *oncrpc.ConfigError if a field is out of range or contradicts another.
// Defaults have been filled in, so a contradiction is between values that were set.
func (c *Config) validate() error {
	switch {
	case c.Dialect > Draft:
		return wrong("Dialect", c.Dialect, "RFC8166 or Draft")
	case c.Dialect == Draft && c.LimitBackwardCalls:
		return wrong("LimitBackwardCalls", true, "false in the Draft")
	case c.Align != 0 && !powerOfTwo(c.Align, minAlign, MaxInline/2):
		return wrong("Align", c.Align,
			"a power of two from %d to %d, or 0 for none", minAlign, MaxInline/2)
	case c.PeerAlign != 0 && !powerOfTwo(c.PeerAlign, minPeerAlign, maxPeerAlign):
		return wrong("PeerAlign", c.PeerAlign,
			"a power of two from %d to %d, or 0 for none", minPeerAlign, maxPeerAlign)
	case !inlineSize(c.InlineSend):
		return wrong("InlineSend", c.InlineSend, wantInline)
	case !inlineSize(c.InlineRecv):
		return wrong("InlineRecv", c.InlineRecv, wantInline)
	case c.Align > c.InlineRecv/2:
		return wrong("Align", c.Align, "at most half of InlineRecv, %d", c.InlineRecv)
	}
	for _, f := range []struct {
		name        string
		value       int
		least, most int
	}{
		{"Credits", c.Credits, 1, math.MaxInt32},
		{"SegmentSize", c.SegmentSize, minSegment, maxSegment},
		{"MaxMessage", c.MaxMessage, minMessage, maxMessage},
	} {
		if f.value < f.least || f.value > f.most {
			return wrong(f.name, f.value, "from %d to %d, or 0 for the default", f.least, f.most)
		}
	}
	call := 2 * int64(c.MaxMessage)
	switch {
	case c.MinChunk < 1:
		return wrong("MinChunk", c.MinChunk, "1 or more, or 0 for the default")
	case c.ChunkFrom < 0:
		return wrong("ChunkFrom", c.ChunkFrom, "1 or more, or 0 for none")
	case c.ConnMemory < call:
		return wrong("ConnMemory", c.ConnMemory, "at least %d, twice MaxMessage", call)
	case c.ServerMemory < call:
		return wrong("ServerMemory", c.ServerMemory, "at least %d, twice MaxMessage", call)
	case c.ServerMemory < c.ConnMemory:
		return wrong("ServerMemory", c.ServerMemory, "at least ConnMemory, %d", c.ConnMemory)
	case c.ReceiveMemory < 1:
		return wrong("ReceiveMemory", c.ReceiveMemory, "1 or more, or 0 for the default")
	case c.CancelGrace < 0:
		return wrong("CancelGrace", c.CancelGrace, "above 0, or 0 for the default")
	case c.PeerTimeout < 0:
		return wrong("PeerTimeout", c.PeerTimeout, "above 0, or 0 for the default")
	}
	return nil
}

func wrong(field string, value any, want string, args ...any) error {
	return &oncrpc.ConfigError{
		Config: "rpcrdma.Config", Field: field, Value: value, Want: fmt.Sprintf(want, args...),
	}
}

func powerOfTwo(n, least, most int) bool { return n >= least && n <= most && n&(n-1) == 0 }

const wantInline = "a multiple of 1024 from 1024 to 65536, or 0 for the default"

// inlineSize reports whether private data can express n (RFC 8797 section 4).
func inlineSize(n int) bool {
	return n >= DefaultInline && n <= MaxInline && n%wire.InlineUnit == 0
}
