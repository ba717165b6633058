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

// closeTimeout bounds how long an orderly Close sends, and then waits for the peer, in all.
const closeTimeout = 5 * time.Second

// ConnOptions configure a Conn.
type ConnOptions struct {
	CRC bool

	// MarkersIn and MarkersOut are for what is received, and what is sent (RFC 5044 section 4.3).
	MarkersIn, MarkersOut bool

	// MaxSegment is the MULPDU in bytes, at most 65535, and at most 64768 where there are markers.
	// 0 means an FPDU for each TCP segment, or the largest where these are larger than 16 KiB, and
	// FPDUPerTCPSegment the former in any case. Over what is not TCP both mean the largest.
	MaxSegment int

	// Stall, above 0, is how long the peer may take less than the least of what is sent, or leave
	// an FPDU or a message incomplete of which it sends less than that: 16 KiB within Stall, and 1
	// KiB in each second of it. It takes up to three quarters longer to notice.
	Stall time.Duration
}

// FPDUPerTCPSegment as ConnOptions.MaxSegment has each FPDU fit a TCP segment.
const FPDUPerTCPSegment = -1

// What ends a stream of FPDUs.
var (
	// ErrCRC: the CRC of an FPDU is wrong (RFC 5044 section 8, error code 2).
	ErrCRC error = &ddp.Fault{Code: terminateCode(CodeCRC), Text: "MPA CRC error"}
	// ErrMarker: a marker does not point to where, by the lengths, its FPDU begins (RFC 5044
	// section 8, error code 3).
	ErrMarker error = &ddp.Fault{
		Code: terminateCode(CodeMarker),
		Text: "MPA marker and length of an FPDU do not agree",
	}
	// ErrLength: a ULPDU that is too short for any header of DDP. There is no error code for that.
	ErrLength = ddp.ErrShort
	// ErrStalled: the peer stopped in the middle of an FPDU or of a message, or does not take what
	// is sent (ConnOptions.Stall).
	ErrStalled = ddp.ErrStalled
)

// Conn is a connection after the startup: a stream of FPDUs in each direction. It is the LLP of a
// DDP stream.
//
// What each message touches is side by side, here and in what is embedded: over many connections
// it is in no cache nearby, and comes by lines of 64 bytes (docs/performance.md, Growth).
type Conn struct {
	rawIn    rawInput // what in.sys is, where TCP is read by system calls
	in       reader
	received atomic.Uint64 // bytes

	sent       atomic.Uint64 // bytes
	maxSegment int
	crc        bool
	markersOut bool
	rawOut     rawOutput // likewise, out.sys
	out        writer

	conn  net.Conn
	tap   tap // nil: none
	stall time.Duration

	mu          sync.Mutex // guards the deadlines, and what follows
	interrupted bool
	holding     bool // Hold waits
	resumed     bool // since it began to wait, or returned
}

var _ ddp.LLP = (*Conn)(nil)

// NewConn returns the stream of FPDUs on a connection on which the startup is complete: over TCP,
// or over any other stream of bytes whose deadlines end what is under way with
// os.ErrDeadlineExceeded.
// A *net.TCPConn is read and written by system calls that do not block, where there are such. So is
// one that package trace has traced, which is told what passes.
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

// segmentFor returns the MULPDU for an MSS: an FPDU for each TCP segment, as siw and hardware have
// it, or the largest where TCP segments are large themselves, as on a loopback interface.
func segmentFor(mss int, markers, one bool) int {
	const large, largest = 16 << 10, 64<<10 - 32 + ddp.TaggedLen
	if mss > large && !one {
		return largest
	}
	if markers {
		mss -= markerSize * ((mss + markerEvery - 1) / markerEvery) // RFC 5044 section 4.2
	}
	n := (mss-crcSize)&^(padTo-1) - lengthSize
	return min(max(n, 128), maxULPDU) // whatever the system says
}

// Traffic returns the bytes that the connection has taken and brought since the startup.
func (c *Conn) Traffic() (sent, received uint64) { return c.sent.Load(), c.received.Load() }

// MaxSegment is the MULPDU.
func (c *Conn) MaxSegment() int { return c.maxSegment }

// Append adds a segment to the batch.
func (c *Conn) Append(header []byte, p *ddp.Payload, n int, owner transport.STag) bool {
	return c.out.append(header, p, n, owner)
}

// Flush sends what TCP takes at once.
func (c *Conn) Flush() (empty bool, err error) { return c.out.flush() }

// Wait waits until TCP takes more.
func (c *Conn) Wait(l sync.Locker) (empty bool, err error) { return c.out.wait(l) }

// Detach copies what the batch refers to under the name owner.
func (c *Conn) Detach(owner transport.STag) {
	if c.out.batch != nil {
		c.out.batch.detach(owner)
	}
}

// Cut drops the FPDUs of which nothing has been sent, and the rest of another, too, if the peer is
// gone.
func (c *Conn) Cut(peerGone bool) {
	if c.out.batch != nil {
		c.out.batch.cut(peerGone)
		c.out.settle()
	}
}

// Receive reads once.
func (c *Conn) Receive(sink ddp.Sink) error { return c.in.receive(sink) }

// Close closes the connection. Where that is not TCP, nor knows CloseWrite as TCP does, the peer is
// not told that nothing more will come, and not waited for, unless the last that it gets is a whole
// FPDU: a Terminate message, by which it learns that it is to close.
func (c *Conn) Close(orderly bool) {
	c.in.release()
	if below, ok := overTLS(c.conn); ok && c.out.torn {
		// A part of a record may be on its way. What followed would be taken for the rest, be it
		// TLS's own word that it ends.
		orderly = false
		below.Close()
	}
	if orderly {
		c.conn.SetDeadline(time.Now().Add(closeTimeout))
		told := c.out.unbegun()
		orderly = c.out.finish() == nil && closeWrite(c.conn, told)
	}
	if orderly {
		// What the peer still sends is read, since closing on it would reset the connection, and
		// the peer might lose what was sent last: a Terminate message.
		_, err := io.Copy(io.Discard, onlyReader{c.conn})
		orderly = err == nil
	}
	if tcp, ok := c.conn.(interface{ SetLinger(int) error }); ok && !orderly {
		_ = tcp.SetLinger(0) // a peer that takes nothing shall not have the kernel's memory either
	}
	c.conn.Close()
}

// closeWrite says that nothing more will come, and reports whether the peer is going to close. Told
// by a Terminate message, it will in any case.
func closeWrite(conn net.Conn, told bool) bool {
	half, ok := conn.(interface{ CloseWrite() error })
	if !ok {
		return told
	}
	return half.CloseWrite() == nil
}

// onlyReader hides what io.Copy would use to move data within the kernel.
type onlyReader struct{ io.Reader }
