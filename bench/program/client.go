package program

import (
	"context"
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// Caller makes the same call again and again, one at a time.
type Caller struct {
	client *oncrpc.Client
	args   args
	reply  reply
	req    oncrpc.Request
	length int // of the payload
}

// NewTakeCaller returns a caller of TAKE, which sends payload as bulk data.
func NewTakeCaller(t oncrpc.Transport, payload []byte) *Caller {
	c := newCaller(t, Take, len(payload))
	c.args.payload = payload
	return c
}

// NewGiveCaller returns a caller of GIVE, which receives the payload in into. If named is set, it
// offers into to the transport. Otherwise the payload comes inside the reply message, and is copied
// to into.
func NewGiveCaller(t oncrpc.Transport, into []byte, named bool) *Caller {
	c := newCaller(t, Give, len(into))
	c.reply.into = into
	if !named {
		c.req.MaxReply = lengthSize + xdr.RoundUp(len(into))
	}
	return c
}

func newCaller(t oncrpc.Transport, procedure uint32, length int) *Caller {
	c := &Caller{client: oncrpc.NewClient(t, Number, Version, oncrpc.AuthNone()), length: length}
	c.args.procedure, c.reply.procedure = procedure, procedure
	c.args.length = uint32(length)
	c.req = oncrpc.Request{Procedure: procedure, Args: &c.args, Reply: &c.reply}
	return c
}

// Call makes a call. It fails if the payload has the wrong length at the server or here.
func (c *Caller) Call(ctx context.Context) error {
	if err := c.client.Do(ctx, &c.req); err != nil {
		return err
	}
	if c.reply.got != c.length {
		return fmt.Errorf("payload of %d bytes, want %d", c.reply.got, c.length)
	}
	return nil
}

// args are the arguments of both procedures.
type args struct {
	procedure uint32
	payload   []byte
	length    uint32
}

func (a *args) MarshalXDR(e *xdr.Encoder) {
	if a.procedure == Give {
		e.Uint32(a.length)
		return
	}
	e.BulkBytes(a.payload, nil)
}

// reply is the reply of both procedures.
type reply struct {
	procedure uint32
	into      []byte
	got       int // length of the payload, as the server reports it or as received
}

// ReplyRoom offers the buffer for the payload of GIVE.
func (r *reply) ReplyRoom(results [][]byte) (maxReply int, _ [][]byte) {
	if r.procedure == Give {
		results = append(results, r.into)
	}
	return lengthSize, results
}

func (r *reply) UnmarshalXDR(d *xdr.Decoder) {
	if r.procedure == Give {
		r.got = len(d.BulkInto(r.into))
		return
	}
	r.got = int(d.Uint32())
}
