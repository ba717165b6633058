// Package pipe is an oncrpc.Transport inside one process, for tests. It hands calls directly to an
// oncrpc.Server, and returns the replies:
//
//	conn := pipe.New(srv, pipe.Chunked)
//	client := nfsclient.New(conn, oncrpc.AuthNone())
//
// Bulk data is part of the messages, as over TCP ([Inline]), or moves beside them, as over RDMA
// ([Chunked]).
package pipe

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// Mode says how bulk data travels.
type Mode int

// The modes.
const (
	Inline  Mode = iota // in the messages
	Chunked             // beside the messages; handlers fetch arguments
)

func (m Mode) String() string { return [...]string{"inline", "chunked"}[m] }

// Errors of a pipe.
var (
	ErrDropped = errors.New("pipe: the server dropped the call")
	errGone    = errors.New("pipe: the caller is gone")
)

// Conn is the client's end of a pipe.
type Conn struct {
	server oncrpc.Dispatcher
	mode   Mode
	peer   net.Addr
	calls  sync.Pool // *call
	xid    atomic.Uint32
	moved  atomic.Int64 // bytes that handlers have fetched

	ctx   context.Context // ends with the connection
	close context.CancelFunc
}

// New returns a connection to s. Its addresses are not IP addresses.
func New(s *oncrpc.Server, m Mode) *Conn { return NewFrom(s, m, addr{}) }

// NewFrom returns a connection to s from a peer with any address.
func NewFrom(s *oncrpc.Server, m Mode, peer net.Addr) *Conn {
	ctx, cancel := context.WithCancel(context.Background())
	return &Conn{server: oncrpc.DispatcherOf(s).For(peer), mode: m, peer: peer, ctx: ctx, close: cancel}
}

// Fetched returns how many bytes of bulk arguments handlers have fetched.
func (c *Conn) Fetched() int64 { return c.moved.Load() }

// call is a call under way. It implements oncrpc.IncomingCall, and xdr.BulkSource for its bulk
// arguments.
type call struct {
	conn   *Conn
	dec    xdr.Decoder
	inline []byte
	chunks []xdr.Chunk
	reply  []byte
	back   []xdr.Chunk
	err    error
	done   chan struct{}

	mu sync.Mutex       // guards what follows, and the memory that it names
	x  *oncrpc.Exchange // nil when the caller has left
}

// RoundTrip hands the call to the server and waits.
func (c *Conn) RoundTrip(ctx context.Context, x *oncrpc.Exchange) error {
	if c.ctx.Err() != nil {
		return net.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	k, _ := c.calls.Get().(*call)
	if k == nil {
		k = &call{conn: c, done: make(chan struct{}, 1)}
	}
	k.x, k.err = x, nil
	xid := x.XID
	if xid == 0 {
		xid = c.xid.Add(1)
	}
	binary.BigEndian.PutUint32(x.Call.Inline, xid)
	k.inline, k.chunks = k.inline[:0], k.chunks[:0]
	if c.mode == Inline {
		k.inline = x.Call.AppendTo(k.inline)
	} else {
		k.inline = append(k.inline, x.Call.Inline...)
		for i, it := range x.Call.Bulk {
			k.chunks = append(k.chunks, xdr.Chunk{Position: it.Position, Len: it.Len, Source: k, ID: i})
		}
	}
	k.dec.Reset(k.inline, k.chunks)
	c.server.Dispatch(k)
	select {
	case <-k.done:
	case <-ctx.Done():
		k.mu.Lock()
		k.x = nil
		k.mu.Unlock()
		return ctx.Err()
	}
	if k.err != nil {
		return k.err
	}
	x.SetReply(k.reply, k.back, k)
	return nil
}

// Release recycles the call after the reply has been decoded.
func (k *call) Release() { k.conn.calls.Put(k) }

// Message implements oncrpc.IncomingCall.
func (k *call) Message() *xdr.Decoder { return &k.dec }

// Ready implements oncrpc.IncomingCall.
func (k *call) Ready() bool { return len(k.chunks) == 0 }

// Context implements oncrpc.IncomingCall.
func (k *call) Context() context.Context { return k.conn.ctx }

// Conn implements oncrpc.IncomingCall.
func (k *call) Conn() oncrpc.Transport { return k.conn }

// Reply implements oncrpc.IncomingCall.
func (k *call) Reply(m xdr.Message) {
	k.mu.Lock()
	if k.x != nil {
		k.err = k.take(&m)
	}
	k.mu.Unlock()
	m.Release()
	k.done <- struct{}{}
}

// take copies a reply.
func (k *call) take(m *xdr.Message) error {
	k.reply, k.back = k.reply[:0], k.back[:0]
	if k.conn.mode == Inline || len(k.x.Results) == 0 {
		k.reply = m.AppendTo(k.reply)
		if len(k.reply) > k.x.ReplyLimit() {
			return k.tooLong(m)
		}
		return nil
	}
	k.reply = append(k.reply, m.Inline...)
	if len(k.reply) > k.x.MaxReply || len(m.Bulk) > len(k.x.Results) {
		return k.tooLong(m)
	}
	for i, it := range m.Bulk {
		to := k.x.Results[i]
		if it.Len > len(to) {
			return k.tooLong(m)
		}
		n := 0
		for _, p := range it.Data {
			n += copy(to[n:], p)
		}
		k.back = append(k.back, xdr.Chunk{Position: xdr.Floating, Len: n, Data: to[:n]})
	}
	return nil
}

// tooLong returns the error for a reply that does not fit.
func (k *call) tooLong(m *xdr.Message) error {
	return &oncrpc.ReplyTooLongError{Len: m.Len(), Max: k.x.ReplyLimit()}
}

// Drop implements oncrpc.IncomingCall.
func (k *call) Drop() {
	k.err = ErrDropped
	k.done <- struct{}{}
}

// Fetch implements xdr.BulkSource.
func (k *call) Fetch(_ context.Context, id, n int, dst [][]byte, w xdr.BulkWatcher) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.x == nil {
		return errGone
	}
	k.conn.moved.Add(int64(n))
	for _, p := range k.x.Call.Bulk[id].Data {
		p = p[:min(len(p), n)]
		n -= len(p)
		if w != nil {
			w.Arrived(p)
		}
		for len(p) > 0 {
			m := copy(dst[0], p)
			if p = p[m:]; m == len(dst[0]) {
				dst = dst[1:]
			} else {
				dst = append([][]byte{dst[0][m:]}, dst[1:]...)
			}
		}
	}
	return nil
}

// Load implements xdr.BulkSource.
func (k *call) Load(ctx context.Context, id, n int, _ bool, w xdr.BulkWatcher) ([]byte,
	xdr.Releaser, error) {
	p := make([]byte, n)
	return p, nothing{}, k.Fetch(ctx, id, n, [][]byte{p}, w)
}

type nothing struct{}

func (nothing) Release() {}

// Serve implements oncrpc.Transport. There are no calls in this direction.
func (c *Conn) Serve(*oncrpc.Server) {}

// LocalAddr implements oncrpc.Transport.
func (c *Conn) LocalAddr() net.Addr { return addr{} }

// RemoteAddr implements oncrpc.Transport.
func (c *Conn) RemoteAddr() net.Addr { return c.peer }

// Close implements oncrpc.Transport.
func (c *Conn) Close() error {
	c.close()
	return nil
}

// Done implements oncrpc.Transport.
func (c *Conn) Done() <-chan struct{} { return c.ctx.Done() }

// Err implements oncrpc.Transport.
func (c *Conn) Err() error {
	if c.ctx.Err() != nil {
		return net.ErrClosed
	}
	return nil
}

type addr struct{}

func (addr) Network() string { return "pipe" }
func (addr) String() string  { return "pipe" }
