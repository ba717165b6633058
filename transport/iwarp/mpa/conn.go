package mpa

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
)

// closeTimeout bounds how long an orderly Close sends, and how long it then waits for the peer.
const closeTimeout = 5 * time.Second

// Options of a Conn.
type Options struct {
	CRC        bool
	MaxSegment int           // MULPDU in bytes; 0: as the MSS suggests
	Stall      time.Duration // how long the peer may take nothing, or leave an FPDU incomplete
}

// Conn is a TCP connection after the startup: a stream of FPDUs in each direction. It is the LLP of a DDP stream.
type Conn struct {
	tcp        *net.TCPConn
	raw        syscall.RawConn
	crc        bool
	maxSegment int
	stall      time.Duration

	in  reader
	out writer

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
	c := &Conn{tcp: tcp, raw: raw, crc: o.CRC, maxSegment: o.MaxSegment, stall: o.Stall}
	if c.maxSegment == 0 {
		c.maxSegment = segmentFor(mss(tcp, raw))
	}
	c.in.crc = o.CRC
	c.in.init(c)
	c.out.init(c)
	return c, nil
}

// segmentFor returns the MULPDU for an MSS: an FPDU for each TCP segment, as siw and hardware have it, or the largest where TCP segments are
// large themselves, as on a loopback interface.
func segmentFor(mss int) int {
	const large, largest = 16 << 10, 64<<10 - 32 + ddp.TaggedLen
	if mss > large {
		return largest
	}
	n := (mss-crcSize)&^(padTo-1) - lengthSize
	return max(n, 128) // whatever the system says
}

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

// Interrupt ends Receive and Wait.
func (c *Conn) Interrupt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.interrupted = true
	c.tcp.SetDeadline(past)
}

// past is a deadline that has passed.
var past = time.Unix(1, 0)

// setReadDeadline and setWriteDeadline do nothing after Interrupt.
func (c *Conn) setReadDeadline(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.interrupted {
		c.tcp.SetReadDeadline(t)
	}
}

func (c *Conn) setWriteDeadline(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.interrupted {
		c.tcp.SetWriteDeadline(t)
	}
}

// isInterrupted says of a deadline that has passed whether it was an interruption.
func (c *Conn) isInterrupted() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.interrupted
}

func isTimeout(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }

// Close closes the connection.
func (c *Conn) Close(orderly bool) {
	c.in.release()
	if orderly {
		c.tcp.SetDeadline(time.Now().Add(closeTimeout))
		orderly = c.out.finish() == nil && c.tcp.CloseWrite() == nil
	}
	if orderly {
		// What the peer still sends is read, since closing on it would reset the connection, and the peer might lose what was sent
		// last: a Terminate message.
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
