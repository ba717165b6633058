package recordmark

import (
	"context"
	"sync"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// incoming is a call of the peer: the oncrpc.IncomingCall that the server gets.
type incoming struct {
	conn  *Conn
	rec   *record
	args  xdr.Decoder
	reply xdr.Message
	out   outgoing
}

var incomings = sync.Pool{New: func() any { return new(incoming) }}

// nobody answers the calls that arrive where none are expected.
var nobody = oncrpc.DispatcherOf(new(oncrpc.Server))

// dispatch hands a call to the server.
func (c *Conn) dispatch(rec *record) {
	in := incomings.Get().(*incoming)
	in.conn, in.rec = c, rec
	in.args.Reset(rec.data, nil)
	c.mu.Lock()
	admitted := c.admit()
	c.unserved++
	c.current = in
	c.mu.Unlock()
	if !admitted {
		c.cfg.faults.Fault(c.RemoteAddr(), "rpc peer has too many calls under way, connection closed", nil)
		in.Drop()
		c.fail("read", ErrTooManyCalls)
		return
	}
	c.counters.served.Add(1)
	if d := c.server.Load(); d != nil {
		d.Dispatch(in)
	} else {
		nobody.Dispatch(in)
	}
}

// admit waits, at most CancelGrace, while the peer has far too many calls under way: it may
// be that only their answers have not left yet. c.mu is held.
func (c *Conn) admit() bool {
	limit := overcommit * c.cfg.MaxInFlight
	if c.unserved < limit {
		return true
	}
	late := false
	grace := time.AfterFunc(c.cfg.CancelGrace, func() {
		c.mu.Lock()
		late = true
		c.room.Broadcast()
		c.mu.Unlock()
	})
	defer grace.Stop()
	for c.unserved >= limit && c.err == nil && !late {
		c.flush()
		c.room.Wait()
	}
	return c.unserved < limit || c.err != nil
}

func (in *incoming) Message() *xdr.Decoder    { return &in.args }
func (in *incoming) Ready() bool              { return true }
func (in *incoming) Context() context.Context { return in.conn.ctx }
func (in *incoming) Conn() oncrpc.Transport   { return in.conn }

func (in *incoming) Reply(m xdr.Message) {
	c := in.conn
	in.reply = m // which may refer to the arguments
	in.out = outgoing{msg: &in.reply, len: m.Len(), in: in}
	c.mu.Lock()
	if c.err != nil || c.writeErr != nil {
		c.mu.Unlock()
		c.answered(in)
		return
	}
	c.queue.push(&in.out)
	if c.current != in {
		c.filled.Signal()
	}
	c.mu.Unlock()
}

func (in *incoming) Drop() { in.conn.answered(in) }

// answered ends a call of the peer whose reply has left or never will.
func (c *Conn) answered(in *incoming) {
	in.reply.Release()
	in.rec.Release()
	*in = incoming{}
	incomings.Put(in)
	c.mu.Lock()
	c.unserved--
	c.room.Signal()
	c.checkDone()
	c.mu.Unlock()
}
