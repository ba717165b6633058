package recordmark

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// read is the reading goroutine: it hands replies to the calls that wait for them,
// and calls to the server.
func (c *Conn) read() {
	defer c.exit()
	for c.mayRead() {
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
// false when the connection has ended.
func (c *Conn) mayRead() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.unserved >= c.cfg.MaxInFlight && len(c.pending) == 0 && c.err == nil {
		c.flush()
		c.room.Wait()
	}
	return c.err == nil
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
	return f.conn.Read(p)
}

// refuse drops a record that is no RPC message. The next record can be read still.
func (c *Conn) refuse(rec *record, err error) {
	n := len(rec.data)
	rec.Release()
	// One line is enough to find the peer.
	if c.counters.badRecords.Add(1); !c.warned {
		c.warned = true
		c.log.Warn("rpc record dropped", "peer", c.RemoteAddr(), "bytes", n, "err", err)
	}
}

func (c *Conn) readFailed(err error) {
	switch {
	case err == io.EOF:
		err = ErrClosedByPeer
	case errors.Is(err, ErrRecordTooLong):
		c.counters.badRecords.Add(1)
		c.log.Warn("rpc record refused, connection closed", "peer", c.RemoteAddr(), "err", err)
	}
	c.fail("read", err)
}
