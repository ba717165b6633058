package recordmark

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/fair"
	"github.com/rpcrdma/go-rpcrdma/internal/faultlog"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// receiver reads records. All of it but room is the receiving goroutine's.
type receiver struct {
	conn   *Conn
	src    net.Conn // what is read: Conn.conn, or TLS on it
	in     reader
	late   time.Time   // when more of the record under way shall be here, if that was asked for
	got    int         // bytes since then, up to growStep
	readBy time.Time   // the deadline set for reads
	share  *share      // of the memory for large records and replies; nil: no bound
	reader fair.Reader // has others read, too; the zero value: no others

	room sync.Cond // of Conn.mu: reading may go on, or the connection has ended
}

// open begins without a bound on memory.
func (r *receiver) open(c *Conn) {
	r.conn, r.src, r.in, r.room.L = c, c.conn, newReader(r, c.cfg.MaxRecord), &c.mu
}

// within has the connection share a budget for large records and replies, and the processors, with
// others.
func (r *receiver) within(s *share, reader fair.Reader) {
	r.share, r.in.reserve, r.reader = s, r.reserve, reader
	r.conn.responder.replies.share = s
}

// run hands replies to the calls that wait for them, and calls to the server, until the connection
// ends.
func (r *receiver) run() {
	c := r.conn
	defer c.exit()
	defer c.fail("read", net.ErrClosed) // a non-blocking handler may have ended the goroutine
	for r.mayRead() {
		r.late, r.got = time.Time{}, 0
		rec, err := r.in.next()
		if err != nil {
			r.fail(err)
			return
		}
		c.counters.recordsIn.Add(1)
		c.counters.bytesIn.Add(uint64(len(rec.data)))
		if len(rec.data) < 8 {
			r.refuse(rec, errShortRecord)
			continue
		}
		switch oncrpc.MsgType(binary.BigEndian.Uint32(rec.data[4:])) {
		case oncrpc.MsgCall:
			c.responder.dispatch(rec)
			if err := r.secure(); err != nil {
				r.fail(err)
				return
			}
		case oncrpc.MsgReply:
			c.caller.deliver(rec)
		default:
			r.refuse(rec, errMessageType)
		}
	}
}

// mayRead waits while the peer has as many calls under way as it may, or there is no room for the
// reply to another. It reports false when the connection has ended, or when nothing can come of
// reading any more.
func (r *receiver) mayRead() bool {
	c := r.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.caller.pending) == 0 && c.err == nil &&
		(c.responder.unserved >= c.cfg.MaxInFlight || !c.responder.replies.forAnother()) {
		c.responder.flush()
		r.room.Wait()
	}
	return c.err == nil && (c.sender.err == nil || c.sender.draining || len(c.caller.pending) > 0)
}

// Read reads from the network, for in. Before a read that may block, what the messages of the last
// one have caused is sent.
func (r *receiver) Read(p []byte) (int, error) {
	c := r.conn
	c.mu.Lock()
	c.responder.flush()
	c.mu.Unlock()
	if late := r.deadline(); late != r.readBy {
		r.readBy = late
		c.conn.SetReadDeadline(late)
	}
	r.reader.Await()
	n, err := r.src.Read(p)
	if r.got += n; r.got >= growStep {
		r.late, r.got = time.Time{}, 0
	}
	return n, err
}

// deadline returns when the record that has begun, or growStep bytes more of it, shall be here. It
// is asked for when reading may have to wait, which for a small record it has not.
func (r *receiver) deadline() time.Time {
	timeout := r.conn.cfg.RecordTimeout
	switch {
	case !r.in.inside || timeout < 0:
		return time.Time{}
	case r.late.IsZero():
		r.late = time.Now().Add(timeout)
	}
	return r.late
}

// reserve gets the memory for a record of n bytes.
func (r *receiver) reserve(rec *record, n int) error {
	c := r.conn
	c.mu.Lock()
	c.responder.flush()
	c.mu.Unlock()
	n = recordSize(n)
	if err := r.share.reserve(c.ctx, n, r.deadline()); err != nil {
		return fmt.Errorf("no memory for a record: %w", err)
	}
	rec.share, rec.reserved = r.share, n
	return nil
}

// refuse drops a record that is no RPC message. The next record can be read still.
func (r *receiver) refuse(rec *record, err error) {
	c := r.conn
	n := len(rec.data)
	rec.Release()
	c.counters.badRecords.Add(1)
	c.cfg.faults.Fault(c.RemoteAddr(), "rpc record dropped", err, "bytes", n, "err", err)
}

// fail ends the connection because nothing more can be read.
func (r *receiver) fail(err error) {
	c := r.conn
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
