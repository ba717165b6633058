package recordmark

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/faultlog"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// read is the reading goroutine: it hands replies to the calls that wait for them,
// and calls to the server.
func (c *Conn) read() {
	defer c.exit()
	defer c.fail("read", net.ErrClosed) // a non-blocking handler may have ended the goroutine
	for c.mayRead() {
		c.late = time.Time{}
		rec, err := c.in.next()
		if err != nil {
			c.readFailed(err)
			return
		}
		c.counters.recordsIn.Add(1)
		c.counters.bytesIn.Add(uint64(len(rec.data)))
		if len(rec.data) < 8 {
			c.refuse(rec, errShortRecord)
			continue
		}
		switch oncrpc.MsgType(binary.BigEndian.Uint32(rec.data[4:])) {
		case oncrpc.MsgCall:
			c.dispatch(rec)
		case oncrpc.MsgReply:
			c.deliver(rec)
		default:
			c.refuse(rec, errMessageType)
		}
	}
}

// mayRead waits while the peer has as many calls under way as it may. It reports
// false when the connection has ended, or when nothing can come of reading any more.
func (c *Conn) mayRead() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.unserved >= c.cfg.MaxInFlight && len(c.pending) == 0 && c.err == nil {
		c.flush()
		c.room.Wait()
	}
	return c.err == nil && (c.writeErr == nil || c.draining || len(c.pending) > 0)
}

// flush lets the replies go that the reading goroutine has queued; c.mu is held.
func (c *Conn) flush() {
	c.current = nil
	if c.queue.first != nil {
		c.filled.Signal()
	}
}

// flusher is the connection as the reader reads it: before a read that may block, what the
// messages of the last one have caused is sent.
type flusher struct{ *Conn }

func (f flusher) Read(p []byte) (int, error) {
	f.mu.Lock()
	f.flush()
	f.mu.Unlock()
	if late := f.deadline(); late != f.readBy {
		f.readBy = late
		f.conn.SetReadDeadline(late)
	}
	return f.conn.Read(p)
}

// deadline returns when the record that has begun shall be here. The reading goroutine
// asks when it may have to wait, which for a small record it has not.
func (c *Conn) deadline() time.Time {
	switch {
	case !c.in.inside || c.cfg.RecordTimeout < 0:
		return time.Time{}
	case c.late.IsZero():
		c.late = time.Now().Add(c.cfg.RecordTimeout)
	}
	return c.late
}

// reserve gets the memory for a record of n bytes.
func (c *Conn) reserve(rec *record, n int) error {
	c.mu.Lock()
	c.flush()
	c.mu.Unlock()
	n = recordSize(n)
	if err := c.budget.reserve(c.ctx, n, c.deadline()); err != nil {
		return fmt.Errorf("no memory for a record: %w", err)
	}
	rec.budget, rec.reserved = c.budget, n
	return nil
}

// refuse drops a record that is no RPC message. The next record can be read still.
func (c *Conn) refuse(rec *record, err error) {
	n := len(rec.data)
	rec.Release()
	c.counters.badRecords.Add(1)
	c.cfg.faults.Fault(c.RemoteAddr(), "rpc record dropped", err, "bytes", n, "err", err)
}

func (c *Conn) readFailed(err error) {
	switch {
	case err == io.EOF:
		err = ErrClosedByPeer
	case errors.Is(err, ErrRecordTooLong), errors.Is(err, ErrEmptyFragments):
		c.counters.badRecords.Add(1)
		kind := faultlog.OneOf(err, errMPA, ErrRecordTooLong, ErrEmptyFragments)
		c.cfg.faults.Fault(c.RemoteAddr(), "rpc record refused, connection closed", kind, "err", err)
	}
	c.fail("read", err)
}
