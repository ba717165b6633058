package bench

import "fmt"

// Path is what the calls of a point travel over.
type Path string

// The paths.
const (
	Loopback     Path = "loopback"      // transport/loopback: client and server are one process
	IWARP        Path = "iwarp"         // transport/iwarp without CRC and markers
	IWARPCRC     Path = "iwarp+crc"     // with CRC32C, as between hosts
	IWARPMarkers Path = "iwarp+markers" // with markers in both directions, without CRC
	// transport/roce: reliable connections of InfiniBand, in UDP
	RoCE Path = "roce"
	TCP  Path = "tcp" // oncrpc/recordmark: RPC over TCP, a yardstick
)

// Way is how the payload of a call, or of its reply, travels.
type Way string

// The ways. Over TCP there are InlineCall and InlineReply alone.
const (
	InlineCall Way = "inline call" // client to server, in the Send of the call
	// the same, aligned at the server: RDMA_MSGP (draft section 3.9)
	Padded      Way = "padded call"
	ReadChunk   Way = "read chunk"         // the server reads it (RFC 8166 section 3.4.5)
	LongCall    Way = "position-zero call" // with the whole call (RFC 8166 section 3.5.2)
	InlineReply Way = "inline reply"       // server to client, in the Send of the reply
	// the server writes it to memory that the client offers (RFC 8166 section 3.4.6)
	WriteChunk Way = "write chunk"
	ReplyChunk Way = "reply chunk" // with the whole reply (RFC 8166 section 3.5.3)
)

// Reply tells whether the payload is in the reply.
func (w Way) Reply() bool { return w == InlineReply || w == WriteChunk || w == ReplyChunk }

// Inline tells whether the payload is in the Send of the call or of the reply.
func (w Way) Inline() bool { return w == InlineCall || w == Padded || w == InlineReply }

// Point is one combination to measure.
type Point struct {
	Path     Path `json:"path"`
	Way      Way  `json:"way"`
	Size     int  `json:"size"`      // of the payload in bytes
	InFlight int  `json:"in_flight"` // calls, on each connection
	Conns    int  `json:"conns"`     // connections
}

// String says what a point is.
func (p Point) String() string {
	return fmt.Sprintf("%s, %s, %d bytes, %d in flight, %d connections", p.Path, p.Way, p.Size, p.InFlight, p.Conns)
}
