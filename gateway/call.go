package gateway

import (
	"encoding/binary"
	"errors"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/sizeclass"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// call is a call of a client, until its reply has been sent.
type call struct {
	oncrpc.Exchange
	g                           *Gateway
	session                     *session
	in                          oncrpc.IncomingCall
	xid                         uint32 // the client's
	sent                        uint32 // the one with which the call goes to the server
	program, version, procedure uint32
	proc                        nfs3.Proc // with landing

	landing  int               // bytes of bulk data that the reply may have; they arrive in
	buffer   *sizeclass.Buffer // this buffer
	reserved int64             // bytes of memory
	item     [1]xdr.BulkItem
	data     [1][]byte // of item
	results  [1][]byte // backing of Results
	failure  [6 * 4]byte
}

// newCall returns a call whose message is p.
func (g *Gateway) newCall(s *session, in oncrpc.IncomingCall, p []byte) *call {
	c, _ := g.calls.Get().(*call)
	if c == nil {
		c = new(call)
	}
	c.g, c.session, c.in = g, s, in
	c.xid = binary.BigEndian.Uint32(p)
	c.sent = c.xid
	if plain := c.layOut(p); plain {
		c.sent ^= s.mark
	}
	return c
}

// pass makes the call and answers it.
func (c *call) pass() {
	tell := c.g.cfg.CallEnded
	if tell == nil {
		_ = c.carryOut() // has answered
		return
	}
	program, version, procedure, begun := c.program, c.version, c.procedure, time.Now()
	err := c.carryOut()
	tell(program, version, procedure, time.Since(begun), err)
}

// carryOut makes the call and answers it. It returns nil, or why there is no reply from the server.
// The call must not be used afterwards.
func (c *call) carryOut() error {
	r := c.g.routes[c.program]
	if r == nil || r.IfUnavailable && !r.taken.Load() {
		if err := c.roundTrip(c.g.server); err != nil {
			return err
		}
		if r == nil || !c.unavailable() {
			return c.answer()
		}
		if !r.taken.Swap(true) {
			c.g.log.Info("the server does not have the program; its calls now use its route",
				"program", c.program)
		}
		c.giveBack()
	}
	if err := c.roundTrip(r); err != nil {
		return err
	}
	return c.answer()
}

// reserve waits for memory for the reply. It fails when the session ends.
func (c *call) reserve() error {
	n := cost(c.landing) + cost(c.MaxReply)
	if err := c.session.reserve(n); err != nil {
		return err
	}
	c.reserved = n
	if c.landing > 0 {
		c.buffer = c.g.pool.Get(c.landing)
		c.results[0] = c.buffer.Bytes[:c.landing]
		c.Results = c.results[:]
	}
	return nil
}

// giveBack releases the memory of the reply.
func (c *call) giveBack() {
	c.Exchange.Release()
	if c.buffer != nil {
		c.g.pool.Put(c.buffer)
		c.buffer = nil
	}
	c.session.release(c.reserved)
	c.reserved = 0
}

// roundTrip makes the call. If it returns an error, it has answered or dropped the call. It waits
// for the connection before it reserves memory, so calls that wait for a server take none from
// calls to others.
func (c *call) roundTrip(r *route) error {
	conn, err := c.session.connection(r)
	if err == nil {
		err = c.reserve()
	}
	if err != nil {
		c.drop()
		return err
	}
	c.session.handed(c.xid)
	c.XID = c.sent
	err = conn.RoundTrip(c.session.ctx, &c.Exchange)
	// The transport has chosen this XID for a call with XID 0.
	if errors.Is(err, oncrpc.ErrXIDInUse) {
		c.XID = 0
		err = conn.RoundTrip(c.session.ctx, &c.Exchange)
	}
	switch {
	case err == nil:
	case c.session.ctx.Err() != nil:
		c.drop()
	case ended(conn, err):
		c.session.client.Close()
		c.drop()
	default:
		c.fail(err)
	}
	return err
}

// ended reports whether a connection is of no more use after a call failed with err.
func ended(conn oncrpc.Transport, err error) bool {
	return conn.Err() != nil || errors.Is(err, net.ErrClosed)
}

// fail answers a call with SYSTEM_ERR because the call or its reply cannot be carried. If it were
// dropped, the client would repeat it forever.
func (c *call) fail(err error) {
	level := slog.LevelDebug
	if atomic.AddUint64(&c.g.stats.Failed, 1) == 1 { // warn once only: a client could fill the log
		level = slog.LevelWarn
	}
	c.g.log.Log(c.session.ctx, level, "call answered with SYSTEM_ERR",
		"client", c.session.client.RemoteAddr(), "program", c.program, "err", err)
	p := c.failure[:]
	clear(p)
	binary.BigEndian.PutUint32(p, c.xid)
	// MSG_ACCEPTED, with an AUTH_NONE verifier.
	binary.BigEndian.PutUint32(p[4:], uint32(oncrpc.MsgReply))
	binary.BigEndian.PutUint32(p[20:], uint32(oncrpc.SystemErr))
	c.reply(xdr.Message{Inline: p})
}

// reply sends a reply. When that has been sent, Release is called.
func (c *call) reply(m xdr.Message) {
	atomic.AddUint64(&c.g.stats.ReplyBytes, uint64(m.Len()))
	c.session.end(c.xid)
	m.Owner = c
	c.in.Reply(m)
}

// drop gives the call up.
func (c *call) drop() {
	atomic.AddUint64(&c.g.stats.Dropped, 1)
	c.session.end(c.xid)
	c.in.Drop()
	c.finish()
}

// Release ends the call: its reply has been sent, or never will be.
func (c *call) Release() { c.finish() }

// finish releases everything, and recycles the call.
func (c *call) finish() {
	g := c.g
	c.giveBack()
	*c = call{}
	g.calls.Put(c)
}
