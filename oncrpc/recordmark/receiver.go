package recordmark

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/budget"
	"github.com/rpcrdma/go-rpcrdma/internal/fair"
	"github.com/rpcrdma/go-rpcrdma/internal/faultlog"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// receiver reads records. Only the receiving goroutine uses it, except room.
type receiver struct {
	conn   *Conn
	src    net.Conn // the source: Conn.conn, or TLS on it
	in     reader
	late   time.Time   // deadline for the next growStep bytes of the record, or zero
	got    int         // bytes of these that have arrived
	readBy time.Time   // the deadline set for reads
	share  *share      // of the memory for large records and replies; nil if unlimited
	reader fair.Reader // shares the processors with other hosts; the zero value does not

	handshakes *budget.Budget[waiter] // shared by those of TLS; nil if unlimited

	room sync.Cond // on Conn.mu: reading may continue, or the connection has ended
}

// open initializes a receiver without a limit on memory.
func (r *receiver) open(c *Conn) {
	r.conn, r.src, r.in, r.room.L = c, c.conn, newReader(r, c.cfg.MaxRecord), &c.mu
}

// within makes the connection share memory, processors and handshakes with others.
func (r *receiver) within(s *share, reader fair.Reader, handshakes *budget.Budget[waiter]) {
	r.share, r.in.reserve, r.reader, r.handshakes = s, r.reserve, reader, handshakes
	r.conn.responder.replies.share = s
}

// run passes replies to waiting calls, and calls to the server, until the connection ends.
func (r *receiver) run() {
	c := r.conn
	defer c.exit()
	defer c.fail("read", net.ErrClosed) // in case a non-blocking handler ended the goroutine
	for r.mayRead() {
		r.late, r.got = time.Time{}, 0
		rec, err := r.in.next()
		if err != nil {
			r.fail(err)
			return
		}
		atomic.AddUint64(&c.counters.stats.RecordsIn, 1)
		atomic.AddUint64(&c.counters.stats.BytesIn, uint64(len(rec.data)))
		if len(rec.data) < 8 {
			r.refuse(rec, errShortRecord)
			continue
		}
		switch oncrpc.MsgType(binary.BigEndian.Uint32(rec.data[4:])) {
		case oncrpc.MsgCall:
			c.responder.dispatch(rec)
			if err := r.secure(); err != nil {
				r.failTLS(err)
				return
			}
		case oncrpc.MsgReply:
			c.caller.deliver(rec)
		default:
			r.refuse(rec, errMessageType)
		}
	}
}

// mayRead waits while the peer has too many unanswered calls, or while there is no memory for
// another reply. It returns false if the connection has ended or reading serves no purpose any
// more.
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

// Read reads from the network, for in. Before a read that may block, it lets the sender send the
// replies queued since the last read.
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

// deadline returns when the rest of the current record, or growStep more bytes of it, must have
// arrived. It is called only when a read may block, which small records mostly avoid.
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

// reserve reserves memory for a record of up to n bytes.
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

// refuse drops a record that is no RPC message. The connection goes on.
func (r *receiver) refuse(rec *record, err error) {
	c := r.conn
	n := len(rec.data)
	rec.Release()
	atomic.AddUint64(&c.counters.stats.BadRecords, 1)
	c.cfg.faults.Fault(c.RemoteAddr(), "rpc record dropped", err, "bytes", n, "err", err)
}

// fail ends the connection after a failed read.
func (r *receiver) fail(err error) {
	c := r.conn
	switch {
	case err == io.EOF:
		err = ErrClosedByPeer
	case errors.Is(err, ErrRecordTooLong), errors.Is(err, ErrEmptyFragments):
		atomic.AddUint64(&c.counters.stats.BadRecords, 1)
		kind := faultlog.OneOf(err, errMPA, ErrRecordTooLong, ErrEmptyFragments)
		c.cfg.faults.Fault(c.RemoteAddr(), "rpc record refused, connection closed", kind, "err", err)
	}
	c.fail("read", err)
}
