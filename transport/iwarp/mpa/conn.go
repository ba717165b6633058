package mpa

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/internal/pace"
)

// closeTimeout bounds an orderly Close: sending, and then waiting for the peer, taken together.
const closeTimeout = 5 * time.Second

// ConnOptions configures a Conn.
type ConnOptions struct {
	CRC bool

	// MarkersIn and MarkersOut say whether there are markers in what is received, and in what is
	// sent (RFC 5044 section 4.3).
	MarkersIn, MarkersOut bool

	// MaxSegment is the MULPDU in bytes: at most 65535, or 64768 with MarkersOut. 0 means one FPDU
	// for each TCP segment, or the largest FPDU if TCP segments are larger than 16 KiB.
	// FPDUPerTCPSegment means one FPDU for each TCP segment in any case. If the connection is not
	// TCP, both mean the largest.
	MaxSegment int

	// Stall, above 0, is how long a peer may be too slow before the connection fails with
	// ErrStalled. A peer is too slow if it leaves an FPDU or a message incomplete, or does not take
	// what is sent, and moves less than 16 KiB within Stall, or less than 1 KiB a second on
	// average. It may take up to three quarters longer to notice.
	Stall time.Duration
}

// FPDUPerTCPSegment is the ConnOptions.MaxSegment that makes each FPDU fit a TCP segment.
const FPDUPerTCPSegment = -1

// Errors that end a stream of FPDUs.
var (
	// ErrCRC: the CRC of an FPDU is wrong (RFC 5044 section 8, error code 2).
	ErrCRC error = &ddp.Fault{Code: terminateCode(CodeCRC), Text: "MPA CRC error"}
	// ErrMarker: a marker does not point to the beginning of its FPDU, as computed from the lengths
	// (RFC 5044 section 8, error code 3).
	ErrMarker error = &ddp.Fault{
		Code: terminateCode(CodeMarker),
		Text: "MPA marker and length of an FPDU do not agree",
	}
	// ErrLength: a ULPDU is too short for any DDP header. No error code stands for this.
	ErrLength = ddp.ErrShort
	// ErrStalled: the peer stopped in the middle of an FPDU or of a message, or does not take what
	// is sent (ConnOptions.Stall).
	ErrStalled = ddp.ErrStalled
)

// Conn is a connection after the startup: a stream of FPDUs in each direction. It implements
// ddp.LLP.
//
// The fields that each message touches are side by side, here and in the embedded structs. With
// many connections they are in no cache nearby, and come by lines of 64 bytes
// (docs/performance-history.md, Growth).
type Conn struct {
	rawIn    rawInput // in.sys, if TCP is read by system calls
	in       reader
	received atomic.Uint64 // bytes

	sent       atomic.Uint64 // bytes
	maxSegment int
	crc        bool
	markersOut bool
	rawOut     rawOutput // out.sys, likewise
	out        writer

	conn  net.Conn
	tap   tap // nil: none
	stall time.Duration

	mu          sync.Mutex // guards the deadlines, and what follows
	interrupted bool
	holding     bool // Hold waits
	resumed     bool // Resume was called since Hold began or last returned
}

var _ ddp.LLP = (*Conn)(nil)

// NewConn returns the stream of FPDUs on a connection on which the startup is complete. conn may be
// TCP, or any other stream of bytes whose deadlines end a pending Read or Write with
// os.ErrDeadlineExceeded.
//
// A *net.TCPConn is read and written by system calls that do not block, on systems that have them.
// So is a connection that package trace made of one, which is told what passes.
func NewConn(conn net.Conn, o ConnOptions) (*Conn, error) {
	if err := conn.SetDeadline(time.Time{}); err != nil {
		return nil, err
	}
	c := &Conn{
		conn: conn, crc: o.CRC, markersOut: o.MarkersOut,
		maxSegment: o.MaxSegment, stall: o.Stall,
	}
	c.in.c, c.out.c = c, c
	c.in.watch.pace, c.out.pace = pace.New(o.Stall), pace.New(o.Stall)
	if err := c.open(); err != nil {
		return nil, err
	}
	if c.maxSegment <= 0 {
		c.maxSegment = segmentFor(c.out.sys.mss(), o.MarkersOut, o.MaxSegment < 0)
	}
	if c.markersOut {
		c.maxSegment = min(c.maxSegment, maxMarkedULPDU)
	}
	c.in.crc, c.in.markers = o.CRC, o.MarkersIn
	return c, nil
}

// segmentFor returns the MULPDU for an MSS: one FPDU for each TCP segment, as siw and hardware do
// it; or the largest if TCP segments are large, as on a loopback interface.
func segmentFor(mss int, markers, one bool) int {
	const large, largest = 16 << 10, 64<<10 - 32 + ddp.TaggedLen
	if mss > large && !one {
		return largest
	}
	if markers {
		mss -= markerSize * ((mss + markerEvery - 1) / markerEvery) // RFC 5044 section 4.2
	}
	n := (mss-crcSize)&^(padTo-1) - lengthSize
	return min(max(n, 128), maxULPDU) // whatever MSS the system reports
}

// Traffic returns the bytes sent and received since the startup.
func (c *Conn) Traffic() (sent, received uint64) { return c.sent.Load(), c.received.Load() }

// MaxSegment returns the MULPDU.
func (c *Conn) MaxSegment() int { return c.maxSegment }

// Append adds a segment to the batch.
func (c *Conn) Append(header []byte, p *ddp.Payload, n int, owner transport.STag) bool {
	return c.out.append(header, p, n, owner)
}

// Flush sends what TCP takes at once.
func (c *Conn) Flush() (empty bool, err error) { return c.out.flush() }

// Wait waits until TCP takes more.
func (c *Conn) Wait(l sync.Locker) (empty bool, err error) { return c.out.wait(l) }

// Detach copies the payload that the batch refers to under the name owner.
func (c *Conn) Detach(owner transport.STag) {
	if c.out.batch != nil {
		c.out.batch.detach(owner)
	}
}

// Cut drops the FPDUs not yet begun. It copies the rest of a partly sent one, or drops that too if
// peerGone.
func (c *Conn) Cut(peerGone bool) {
	if c.out.batch != nil {
		c.out.batch.cut(peerGone)
		c.out.settle()
	}
}

// Receive reads once, and hands complete segments to sink.
func (c *Conn) Receive(sink ddp.Sink) error { return c.in.receive(sink) }

// Close closes the connection. See ddp.LLP for orderly. A connection without CloseWrite can neither
// tell the peer that nothing more will come, nor wait for it. The exception: if the last thing sent
// is a whole FPDU, that is a Terminate message, which makes the peer close, so Close waits.
func (c *Conn) Close(orderly bool) {
	c.in.release()
	if below, ok := overTLS(c.conn); ok && c.out.torn {
		// A part of a TLS record may be on its way. The peer would take whatever follows for the
		// rest of it, even TLS's own end of stream.
		orderly = false
		below.Close()
	}
	if orderly {
		c.conn.SetDeadline(time.Now().Add(closeTimeout))
		told := c.out.unbegun()
		orderly = c.out.finish() == nil && closeWrite(c.conn, told)
	}
	if orderly {
		// Read what the peer still sends. To close with it unread would reset the connection, and
		// the peer might lose the last bytes sent to it: a Terminate message.
		_, err := io.Copy(io.Discard, onlyReader{c.conn})
		orderly = err == nil
	}
	if tcp, ok := c.conn.(interface{ SetLinger(int) error }); ok && !orderly {
		_ = tcp.SetLinger(0) // so that the kernel keeps nothing for a peer that takes nothing
	}
	c.conn.Close()
}

// closeWrite says that nothing more will come, and reports whether the peer is going to close. A
// peer that was sent a Terminate message (told) closes in any case.
func closeWrite(conn net.Conn, told bool) bool {
	half, ok := conn.(interface{ CloseWrite() error })
	if !ok {
		return told
	}
	return half.CloseWrite() == nil
}

// onlyReader hides the methods by which io.Copy would move data within the kernel.
type onlyReader struct{ io.Reader }
