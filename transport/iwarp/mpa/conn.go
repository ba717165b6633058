package mpa

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
)

// closeTimeout bounds how long an orderly Close sends, and then waits for the peer, in all.
const closeTimeout = 5 * time.Second

// Options of a Conn.
type Options struct {
	CRC bool

	// MarkersIn and MarkersOut are for what is received, and what is sent (RFC 5044 section 4.3).
	MarkersIn, MarkersOut bool

	// MaxSegment is the MULPDU in bytes, at most 65535, and at most 64768 where there are markers.
	// 0 means an FPDU for each TCP segment, or the largest where these are larger than 16 KiB, and
	// OneSegment the former in any case.
	MaxSegment int

	// Stall, above 0, is how long the peer may take nothing, or leave an FPDU incomplete. It may
	// take somewhat more than twice as long to notice.
	Stall time.Duration
}

// OneSegment as Options.MaxSegment has each FPDU fit a TCP segment.
const OneSegment = -1

// What ends a stream of FPDUs.
var (
	// ErrCRC: the CRC of an FPDU is wrong (RFC 5044 section 8, error code 2).
	ErrCRC = errors.New("MPA CRC error")
	// ErrMarker: a marker does not point to where, by the lengths, its FPDU begins (RFC 5044
	// section 8, error code 3).
	ErrMarker = errors.New("MPA marker and length of an FPDU do not agree")
	// ErrLength: a ULPDU that is too short for any header of DDP. There is no error code for that.
	ErrLength = errors.New("impossible length of an FPDU")
	// ErrStalled: the peer stopped in the middle of an FPDU, or takes nothing.
	ErrStalled = errors.New("peer has stalled")
)

// Conn is a TCP connection after the startup: a stream of FPDUs in each direction. It is the LLP of
// a DDP stream.
type Conn struct {
	tcp        *net.TCPConn
	raw        syscall.RawConn
	crc        bool
	markersOut bool
	maxSegment int
	stall      time.Duration

	in  reader
	out writer

	sent, received atomic.Uint64 // bytes

	mu          sync.Mutex // guards the deadlines, and what follows
	interrupted bool
}

var _ ddp.LLP = (*Conn)(nil)

// NewConn returns the stream of FPDUs on a connection on which the startup is complete.
func NewConn(tcp *net.TCPConn, o Options) (*Conn, error) {
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil, err
	}
	if err := tcp.SetDeadline(time.Time{}); err != nil {
		return nil, err
	}
	c := &Conn{tcp: tcp, raw: raw, crc: o.CRC, markersOut: o.MarkersOut, maxSegment: o.MaxSegment, stall: o.Stall}
	if c.maxSegment <= 0 {
		c.maxSegment = segmentFor(mss(tcp, raw), o.MarkersOut, o.MaxSegment < 0)
	}
	if c.markersOut {
		c.maxSegment = min(c.maxSegment, maxMarkedULPDU)
	}
	c.in.crc, c.in.markers = o.CRC, o.MarkersIn
	c.in.init(c)
	c.out.init(c)
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

// Traffic returns the bytes that TCP has taken and brought since the startup.
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

// Cut drops the FPDUs of which nothing has been sent, and the rest of another, too, if the peer is gone.
func (c *Conn) Cut(peerGone bool) {
	if c.out.batch != nil {
		c.out.batch.cut(peerGone)
		c.out.settle()
	}
}

// Receive reads once.
func (c *Conn) Receive(sink ddp.Sink) error { return c.in.receive(sink) }

// Close closes the connection.
func (c *Conn) Close(orderly bool) {
	c.in.release()
	if orderly {
		c.tcp.SetDeadline(time.Now().Add(closeTimeout))
		orderly = c.out.finish() == nil && c.tcp.CloseWrite() == nil
	}
	if orderly {
		// What the peer still sends is read, since closing on it would reset the connection, and
		// the peer might lose what was sent last: a Terminate message.
		_, err := io.Copy(io.Discard, onlyReader{c.tcp})
		orderly = err == nil
	}
	if !orderly {
		c.tcp.SetLinger(0) // a peer that takes nothing shall not have the kernel's memory either
	}
	c.tcp.Close()
}

// onlyReader hides what io.Copy would use to move data within the kernel.
type onlyReader struct{ io.Reader }
