package rpcrdma

import (
	"cmp"
	"fmt"
	"log/slog"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/faultlog"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma/internal/memory"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma/internal/wire"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// Config configures connections, for clients and servers alike. The zero value is usable: in each
// field, zero means the default. Dial and Serve return a *oncrpc.ConfigError if a value is out of
// range or contradicts another.
type Config struct {
	// Logger logs errors; nil means slog.Default(). An error that repeats with one host is logged
	// at level WARN once a minute, counted over all connections of a Serve, and otherwise at DEBUG.
	Logger *slog.Logger
	// InlineSend and InlineRecv are the largest messages in bytes, headers included, to send and to
	// receive in one Send: multiples of 1024, from 1024 to MaxInline. 0 means 4096; for InlineRecv,
	// twice Align if that is more.
	//
	// The smaller of InlineSend and the peer's receive size applies. Towards a peer that says
	// nothing at setup, both are DefaultInline at first; receives still have InlineRecv bytes.
	InlineSend, InlineRecv int
	// Credits is the largest number of calls under way, from 1 to 2147483647; 0 means 64. A server
	// grants at most that many credits (in the Draft up to two more, see package credits). A client
	// asks for that many. A connection lowers Credits to half of transport.Info.RecvDepth, in the
	// Draft to a third of RecvDepth-2.
	Credits int
	// MinChunk is the length in bytes, 1 or more, from which bulk data may become a chunk if a
	// message does not fit inline; 0 means 1024. If it is more than MaxMessage, bulk data never
	// becomes a chunk of its own.
	MinChunk int
	// ChunkFrom is the length in bytes, 1 or more, from which bulk data of this side's calls goes
	// by read chunk, and its results by write chunk, even if all would fit inline. If one result is
	// that long, all results get write chunks. 0 means that what fits inline goes inline.
	ChunkFrom int
	// SegmentSize is the largest segment of a chunk in bytes, 1 KiB to 1 GiB; 0 means 1 MiB.
	SegmentSize int
	// MaxMessage is the largest call, and the largest reply, in bytes, that a peer can make this
	// side hold: 64 KiB to 1 GiB. 0 means 4 MiB, but at most half of ConnMemory and ServerMemory if
	// these are set.
	MaxMessage int
	// ConnMemory limits the memory in bytes for the chunks of calls under way on one connection,
	// ServerMemory on all connections of one Serve. A call that does not fit waits, and the peer is
	// granted fewer credits meanwhile.
	//
	// 0 means 64 MiB and 512 MiB, or twice MaxMessage if that is more. If ServerMemory is set to
	// less than 64 MiB, ConnMemory defaults to the same. ConnMemory must be at least twice
	// MaxMessage, for a call and its reply, and ServerMemory at least ConnMemory.
	//
	// Peer hosts share ServerMemory: a host that has some gets more only while it then has no more
	// than is left free. So one host alone gets half, N greedy hosts get 1/(N+1) each, and a host
	// that has nothing may get all that is free. With Dial, ConnMemory alone counts. See
	// docs/memory.md.
	ConnMemory, ServerMemory int64
	// ReceiveMemory limits the memory in bytes, 1 or more, for messages that the connections of one
	// Serve have received and not finished. Each message counts with the size of a receive. 0 means
	// 256 MiB, or three times what one connection may use if that is more. Peer hosts share it as
	// they share ServerMemory, but one connection alone gets up to a third. Credits shrink as it
	// becomes short. Idle connections use none of it, if the provider can hold messages back
	// (docs/memory.md).
	ReceiveMemory int64
	// Counters, if set, adds up the statistics of all connections that have it in their Config.
	Counters *Counters
	// CancelGrace is how long a cancelled call waits for its reply before the connection is closed,
	// if the provider is no transport.Abandoner but a transport.Importer: then the peer can reach
	// the caller's memory. 0 means 5 s. It must not be negative.
	CancelGrace time.Duration
	// PeerTimeout is how long a call waits for a peer that neither answers RDMA Reads nor takes
	// replies. Then the connection is closed with ErrStalled. In the Draft it is also how long a
	// reply waits to be read before its memory is taken back, if no other host waits for that. 0
	// means 30 s. It must not be negative.
	//
	// The limit may be exceeded by a quarter. If the provider is a transport.ProgressReporter, a
	// call waits for longer while bytes move: at least 16 KiB within PeerTimeout, and 1 KiB for
	// each second of it.
	PeerTimeout time.Duration
	// NoRemoteInvalidate turns Send with Invalidate off, in both directions (RFC 8797 section 4.1).
	// Otherwise each side may use it in replies to calls with one window, if the providers of both
	// can take it (transport.Info); the caller ends other windows itself.
	NoRemoteInvalidate bool
	// NoPrivateData makes this side send no private data at setup and ignore the peer's, like an
	// implementation without RFC 8797. Both sides then begin with 1024 bytes inline, and may agree
	// on more later (package confproto).
	NoPrivateData bool
	// LimitBackwardCalls makes calls to a client wait where Linux, as that client, may have no
	// receive for them, which would end the connection. It is for servers that call their clients
	// (RFC 8167), and counts only with Serve. It is off for peers that follow RFC 8167.
	//
	// RFC 8167 section 4.3.1 has a client keep a receive for each backward credit. Linux grants 16
	// and does not: it posts receives only when it handles a reply to a call of its own. They run
	// out while the client is idle. It has 7 for backward calls before the first reply and 32 after
	// each (net/sunrpc/xprtrdma of Linux 6.1: RPCRDMA_MAX_RECV_BATCH and RPCRDMA_BACKWARD_WRS).
	//
	// This side sends no more calls than that. It keeps the last receive until it has sent one more
	// reply; the answer to the call that takes it shows that Linux has handled that reply. Credits
	// limit calls as well.
	//
	// A call that waits does so until a reply has been sent or its context ends. It shows in
	// Conn.Credits and counts in Traffic.CreditWaits. A handler that makes many calls before it
	// replies may wait for its own reply: give such calls a deadline.
	LimitBackwardCalls bool
	// Observer, if set, learns how each call of this side travelled.
	Observer Observer

	// Dialect is RFC8166, which is 0, or Draft. The fields below count only in the Draft.
	Dialect Dialect
	// Align gives receives a second buffer, at that offset in the message and aligned to that many
	// bytes. Data that the peer pads lands there (draft section 3.9). It is a power of two from 64
	// to half of InlineRecv; 0 means one buffer. The first buffer should hold any header: otherwise
	// the two are joined by a copy. CONF_RDMA tells the peer.
	Align int
	// PeerAlign is the alignment of opaque data in messages to the peer until CONF_RDMA says
	// otherwise: a power of two from 8 to 32768; 0 means no padding. Data of MinChunk bytes or more
	// is padded and sent inline if the whole message fits.
	PeerAlign int
	// PadAbove takes data of exactly the threshold as unpadded in what the peer sends. Section 3.9
	// says both "at or above" and "exceeds". What this side sends means the same either way.
	PadAbove bool
	// NoReplyChunks offers neither write chunks nor a reply chunk, like a client that does not know
	// where results will go (draft section 3.4). Long results then come as read chunks.
	NoReplyChunks bool

	faults *faultlog.Log // writes to Logger; common to all connections of one Serve
}

// inlineByDefault is the default of InlineSend and InlineRecv, in bytes.
const inlineByDefault = 4096

// withDefaults fills in the defaults. It fails with a *oncrpc.ConfigError.
func (c Config) withDefaults() (Config, error) {
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.faults == nil {
		c.faults = faultlog.New(c.Logger)
	}
	if c.Dialect != Draft {
		c.Align, c.PeerAlign, c.PadAbove, c.NoReplyChunks = 0, 0, false, false
	}
	c.InlineSend = cmp.Or(c.InlineSend, inlineByDefault)
	c.InlineRecv = cmp.Or(c.InlineRecv, max(inlineByDefault, 2*c.Align))
	c.Credits = cmp.Or(c.Credits, 64)
	c.MinChunk = cmp.Or(c.MinChunk, 1024)
	c.SegmentSize = cmp.Or(c.SegmentSize, 1<<20)
	c.memoryDefaults()
	c.CancelGrace = cmp.Or(c.CancelGrace, 5*time.Second)
	c.PeerTimeout = cmp.Or(c.PeerTimeout, 30*time.Second)
	receive := int64(memory.ReceiveBytes(c.receiveSize(), c.Align))
	c.ReceiveMemory = cmp.Or(c.ReceiveMemory, max(256<<20, 3*int64(c.Credits)*receive))
	return c, c.validate()
}

// memoryDefaults fills in the defaults of MaxMessage, ConnMemory and ServerMemory. They do not
// contradict the fields that are set.
func (c *Config) memoryDefaults() {
	if c.MaxMessage == 0 {
		most := int64(4 << 20)
		for _, memory := range []int64{c.ConnMemory, c.ServerMemory} {
			if memory != 0 {
				most = min(most, memory/2)
			}
		}
		c.MaxMessage = int(max(most, minMessage))
	}
	call := 2 * int64(c.MaxMessage)
	if c.ConnMemory == 0 {
		c.ConnMemory = 64 << 20
		if c.ServerMemory != 0 {
			c.ConnMemory = min(c.ConnMemory, c.ServerMemory)
		}
		c.ConnMemory = max(c.ConnMemory, call)
	}
	c.ServerMemory = cmp.Or(c.ServerMemory, max(512<<20, c.ConnMemory))
}

// minReceive is the smallest receive that is posted, in bytes: Linux's server sends up to that
// much, whatever the client said at setup.
const minReceive = 4096

// receiveSize returns the size in bytes of the receives to post.
func (c *Config) receiveSize() int { return max(c.InlineRecv, minReceive) }

// private returns the private data for the peer at setup. The peer may invalidate windows here, or
// may not.
func (c *Config) private(invalidate bool) []byte {
	if c.NoPrivateData {
		return nil
	}
	p := wire.Private{Invalidate: invalidate, Send: c.InlineSend, Recv: c.InlineRecv}
	return p.Append(nil)
}

// check fails with ErrProviderLimits if the connection cannot carry what is configured.
func (c *Config) check(info *transport.Info) error {
	switch {
	case info.MaxMessage > 0 && info.MaxMessage < c.InlineSend:
		return fmt.Errorf("%w: its messages have at most %d bytes, Config.InlineSend is %d",
			ErrProviderLimits, info.MaxMessage, c.InlineSend)
	case info.MaxRecvSGE == 1 && c.Align > 0:
		return fmt.Errorf("%w: its receives have one buffer, Config.Align needs two", ErrProviderLimits)
	}
	return nil
}

// Observer learns how calls travelled.
type Observer interface {
	// CallDone is called once for each RoundTrip, on the caller's goroutine. The pointer is valid
	// only until CallDone returns.
	CallDone(*CallInfo)
}

// CallInfo says how one call travelled. Sizes are in bytes.
type CallInfo struct {
	Program, Version, Procedure uint32

	InlineSent     int   // part of the call in the Send, without padding
	ReadChunk      int   // part of the call offered as read chunks
	InlineReceived int   // part of the reply in the Send, with padding
	WriteChunk     int   // part of the reply in write chunks; in the Draft with the XDR round-up
	ReplyChunk     int   // part of the reply in the reply chunk
	ReplyRead      int   // part of the reply fetched from read chunks (Draft)
	Padding        int   // padding in the call, an RDMA_MSGP (Draft)
	Credits        int   // credits in use when the call was sent, including its own
	Err            error // of the transport; nil if a reply came, whatever it says
}

// unsent notes that nothing of the call was sent.
func (i *CallInfo) unsent() { i.InlineSent, i.ReadChunk, i.Padding = 0, 0, 0 }
