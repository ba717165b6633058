package rpcrdma

import (
	"cmp"
	"fmt"
	"log/slog"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/faultlog"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// Config configures connections, of clients and servers alike. The zero value is usable, and in
// each field zero means the default. Dial and Serve return a *oncrpc.ConfigError if a value is out
// of range or contradicts another.
type Config struct {
	// Logger takes what goes wrong; nil means slog.Default(). What goes wrong again and again with
	// one host is at level WARN once a minute, over all connections of a Serve, and otherwise at
	// DEBUG.
	Logger *slog.Logger
	// InlineSend and InlineRecv are the largest messages in bytes, headers included, to send and to
	// receive in one Send: multiples of 1024, from 1024 to MaxInline. 0 means 4096, or for
	// InlineRecv twice Align if that is more. What a peer can take bounds the first. Towards a peer
	// that says nothing, both are DefaultInline to send and to expect, while receives are still
	// posted at InlineRecv.
	InlineSend, InlineRecv int
	// Credits is the number of calls under way, from 1 to 2147483647: the most that a server
	// grants, in the Draft up to two more (package credits), and what a client asks for; 0 means
	// 64. A connection lowers it to a half of the receives that it can have posted
	// (transport.Info.RecvDepth), in the Draft to a third of all but two.
	Credits int
	// MinChunk is the length in bytes, 1 or more, from which on bulk data may be moved on its own
	// when a call does not fit inline; 0 means 1024. With more than MaxMessage no data is.
	MinChunk int
	// ChunkFrom is the length in bytes, 1 or more, from which on bulk data of a call of this side
	// goes by read chunk, and its results by write chunk, even where the whole would fit inline. 0
	// means that what fits inline goes inline. If one result is that long all get chunks.
	ChunkFrom int
	// SegmentSize is the largest segment of a chunk in bytes, 1 KiB to 1 GiB; 0 means 1 MiB.
	SegmentSize int
	// MaxMessage is the largest call, and the largest reply, in bytes, that a peer can make this
	// side hold, 64 KiB to 1 GiB; 0 means 4 MiB, or a half of ConnMemory or ServerMemory if one of
	// them is set and that is less.
	MaxMessage int
	// ConnMemory bounds the memory in bytes for the chunks of calls that one connection has under
	// way, and ServerMemory that of all connections of one Serve. 0 means 64 MiB and 512 MiB, or
	// twice MaxMessage if that is more; ConnMemory is ServerMemory, if only that is set, and less.
	// Calls that do not fit wait, and less is granted while they do.
	//
	// ServerMemory is shared out by peer host: one that has some gets more only while it then has
	// no more than is left free. So a host alone gets a half of it, and N hosts that take all they
	// can 1/(N+1) each. A host that has nothing gets what is free, up to all. With Dial there is
	// one host, and ConnMemory alone counts.
	//
	// ConnMemory is at least twice MaxMessage, for a call and its reply. ServerMemory is at least
	// ConnMemory.
	ConnMemory, ServerMemory int64
	// ReceiveMemory bounds the memory in bytes, 1 or more, for the messages that the connections of
	// one Serve have received and not done with, at the size of a receive each; 0 means 256 MiB, or
	// three times what one connection may take if that is more: one alone gets up to a third.
	// Connections that are idle use none of it, and less is granted as it becomes short. It is
	// shared out by peer host, as ServerMemory is.
	ReceiveMemory int64
	// Counters, if set, adds up what this connection counts, and others that it is given to.
	Counters *Counters
	// CancelGrace is how long a cancelled call waits for its reply before the connection is closed,
	// with a provider that cannot abandon memory; 0 means 5 s. It must not be negative.
	CancelGrace time.Duration
	// PeerTimeout is how long a call may wait for a peer that does nothing for it, before the
	// connection is closed with ErrStalled: that does not answer the RDMA Reads of its arguments,
	// or does not take its reply; in the Draft also how long a reply may wait to be read before its
	// memory is taken back. 0 means 30 s. It must not be negative. It is kept to within a quarter
	// more. A call waits for longer while the bytes that it waits for move, 16 KiB within
	// PeerTimeout and 1 KiB in each second of that at least, if the provider tells
	// (transport.ProgressReporter).
	PeerTimeout time.Duration
	// NoRemoteInvalidate keeps both sides from using Send with Invalidate (RFC 8797 section 4.1).
	// Without it they do so in replies to calls that have one window; who called ends others
	// itself.
	NoRemoteInvalidate bool
	// NoPrivateData says nothing at setup (RFC 8797), and ignores the peer's private data, like an
	// implementation without RFC 8797. Both sides then begin with 1024 bytes inline, and may agree
	// on more later (package confproto).
	NoPrivateData bool
	// Observer, if set, is told of each call this side has made.
	Observer Observer

	// Dialect is whose rules bind: RFC8166, which is 0, or Draft. What follows is of the Draft
	// alone, and otherwise not looked at, whatever it is.
	Dialect Dialect
	// Align makes receives scatter lists whose second buffer is aligned to that many bytes and
	// begins there in the message, so that data which the peer pads lands aligned in a buffer of
	// its own (draft section 3.9). It is a power of two, from 64 to half of InlineRecv; 0 means one
	// buffer. The first buffer should hold any header: where it does not, the two are joined by a
	// copy. The peer learns of it by CONF_RDMA.
	Align int
	// PeerAlign is what opaque data is aligned to in messages to the peer until CONF_RDMA says
	// otherwise, a power of two from 8 to 32768; 0 means no padding. Data of MinChunk bytes or more
	// is padded, and sent inline, where the whole message fits.
	PeerAlign int
	// PadAbove takes data of exactly the threshold for unpadded in what the peer sends: section 3.9
	// has both "at or above" and "exceeds". What this side sends reads the same either way.
	PadAbove bool
	// NoReplyChunks offers neither write chunks nor reply chunks, like clients that do not know
	// where results will go (draft section 3.4). What does not fit inline then comes as read
	// chunks.
	NoReplyChunks bool

	faults *faultlog.Log // writes to Logger; of all connections of one Serve
}

// inlineByDefault is the default of InlineSend and InlineRecv, in bytes.
const inlineByDefault = 4096

// withDefaults fills in what is not set. It fails with a *oncrpc.ConfigError.
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
	receive := int64(receiveKind{c.receiveSize(), c.Align}.memory())
	c.ReceiveMemory = cmp.Or(c.ReceiveMemory, max(256<<20, 3*int64(c.Credits)*receive))
	return c, c.validate()
}

// memoryDefaults fills in those of MaxMessage, ConnMemory and ServerMemory that are not set, such
// that they do not contradict those that are.
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

// minReceive is the smallest receive that is posted, in bytes: Linux's server sends up to that much
// whatever the client said.
const minReceive = 4096

// receiveSize is the size in bytes of the receives to post.
func (c *Config) receiveSize() int { return max(c.InlineRecv, minReceive) }

// private is what the configuration tells the peer at setup.
func (c *Config) private() []byte {
	if c.NoPrivateData {
		return nil
	}
	p := private{Invalidate: !c.NoRemoteInvalidate, Send: c.InlineSend, Recv: c.InlineRecv}
	return p.append(nil)
}

// check fails with ErrProviderLimits where the connection cannot carry what is configured. The peer
// goes by what it has been told: to lower it now would have replies not fit.
func (c *Config) check(info *transport.Info) error {
	switch {
	case info.MaxMessage > 0 && info.MaxMessage < c.InlineSend:
		return fmt.Errorf("%w: messages of %d bytes, Config.InlineSend is %d",
			ErrProviderLimits, info.MaxMessage, c.InlineSend)
	case info.MaxRecvSGE == 1 && c.Align > 0:
		return fmt.Errorf("%w: receives of one buffer, Config.Align needs two", ErrProviderLimits)
	}
	return nil
}

// Observer is told how calls travelled.
type Observer interface {
	// CallDone is called once for each call of RoundTrip, on the caller's goroutine.
	// The pointer is valid during the call only.
	CallDone(*CallInfo)
}

// CallInfo says how one call travelled. Sizes are in bytes.
type CallInfo struct {
	Program, Version, Procedure uint32

	InlineSent     int   // of the RPC message, in the Send, without padding
	ReadChunk      int   // of the RPC message, offered as read chunks
	InlineReceived int   // of the reply, in the Send, with its padding
	WriteChunk     int   // of the reply, written to write chunks; in the Draft with their round-up
	ReplyChunk     int   // of the reply, written to the reply chunk
	ReplyRead      int   // of the reply, fetched from read chunks, with an RDMA_DONE (Draft)
	Padding        int   // in front of data in the Send, in an RDMA_MSGP (Draft)
	Credits        int   // in use when the call was sent, its own included
	Err            error // of the transport; nil when a reply came, whatever it says
}
