package bench

import "fmt"

// Path is the transport that carries the calls of a point.
type Path string

// The paths to measure.
const (
	Loopback     Path = "loopback"      // transport/loopback: client and server are one process
	IWARP        Path = "iwarp"         // transport/iwarp without CRC and markers
	IWARPCRC     Path = "iwarp+crc"     // with CRC32C, as between hosts
	IWARPMarkers Path = "iwarp+markers" // with markers in both directions, without CRC
	// transport/roce: reliable connections of InfiniBand, in UDP
	RoCE Path = "roce"
	TCP  Path = "tcp" // oncrpc/recordmark: RPC over TCP, for comparison
)

// Way is how the payload of a call, or of its reply, travels.
type Way string

// The ways to measure. TCP has only InlineCall and InlineReply.
const (
	InlineCall Way = "inline call" // from client to server, in the Send of the call
	// InlineCall, but aligned at the server: RDMA_MSGP (draft section 3.9)
	Padded    Way = "padded call"
	ReadChunk Way = "read chunk" // the server reads it (RFC 8166 section 3.4.5)
	// the server reads the whole call (RFC 8166 section 3.5.2)
	LongCall    Way = "position-zero call"
	InlineReply Way = "inline reply" // from server to client, in the Send of the reply
	// the server writes it to memory that the client offers (RFC 8166 section 3.4.6)
	WriteChunk Way = "write chunk"
	ReplyChunk Way = "reply chunk" // the same with the whole reply (RFC 8166 section 3.5.3)
)

// Reply reports whether the payload is in the reply.
func (w Way) Reply() bool { return w == InlineReply || w == WriteChunk || w == ReplyChunk }

// Inline reports whether the payload is in the Send of the call or of the reply.
func (w Way) Inline() bool { return w == InlineCall || w == Padded || w == InlineReply }

// Point is one combination to measure.
type Point struct {
	Path     Path `json:"path"`
	Way      Way  `json:"way"`
	Size     int  `json:"size"`      // of the payload in bytes
	InFlight int  `json:"in_flight"` // calls on each connection
	Conns    int  `json:"conns"`     // connections
}

// String describes p, for example "iwarp, read chunk, 4096 bytes, 8 in flight, 1 connections".
func (p Point) String() string {
	return fmt.Sprintf("%s, %s, %d bytes, %d in flight, %d connections", p.Path, p.Way, p.Size, p.InFlight, p.Conns)
}
