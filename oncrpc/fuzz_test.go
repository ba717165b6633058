package oncrpc_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

func seeds(f *testing.F) {
	for _, tt := range callHeaders {
		f.Add(unhex(f, tt.wire))
	}
	for procedure := range uint32(5) {
		f.Add(callBytes(1, procedure, 5, 0x68656c6c, 0x6f000000))
	}
	for _, a := range answering {
		f.Add(unhex(f, a.reply))
	}
}

// FuzzDispatch passes arbitrary bytes to a server, which must answer once, with a well-formed reply
// to the call's transaction id.
func FuzzDispatch(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, call []byte) {
		s := newServer(t, oncrpc.ServerConfig{},
			oncrpc.Procedure{Handler: func(ctx context.Context, c *oncrpc.Call) error {
				p, done, err := c.Args.Bulk(100).Take(ctx)
				if err != nil {
					return err
				}
				c.Results.BulkBytes(p, done)
				return c.Args.Finish()
			}},
			oncrpc.Procedure{NonBlocking: true, Handler: func(ctx context.Context, c *oncrpc.Call) error {
				for range c.Args.Count(100, 4) {
					c.Results.Uint32(c.Args.Uint32())
				}
				return nil
			}},
			oncrpc.Procedure{NonBlocking: true, Handler: func(ctx context.Context, c *oncrpc.Call) error {
				panic(c.Args.String(10))
			}},
		)
		s.Handle(oncrpc.Program{Number: 100003, Version: 3})
		in := newIncoming(t, bytes.Clone(call))
		oncrpc.DispatcherOf(s).Dispatch(in)
		reply := <-in.reply
		if reply == nil || in.answers.Load() != 1 {
			t.Fatalf("%d answers, %x", in.answers.Load(), reply)
		}
		var xid [4]byte
		if len(call) >= 4 {
			copy(xid[:], call)
		}
		if !bytes.Equal(reply[:4], xid[:]) || binary.BigEndian.Uint32(reply[4:]) != uint32(oncrpc.MsgReply) {
			t.Fatalf("reply %x to xid %x", reply, xid)
		}
		if err := oncrpc.DecodeReply(xdr.NewDecoder(reply)); errors.Is(err, oncrpc.ErrMalformedReply) {
			t.Fatalf("malformed reply %x: %v", reply, err)
		}
	})
}

// FuzzReply passes arbitrary replies to a client.
func FuzzReply(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, reply []byte) {
		tr := &canned{reply: reply}
		c := oncrpc.NewClient(tr, testProgram, testVersion, oncrpc.AuthNone())
		var got word
		if err := c.Call(context.Background(), 1, nil, &got); err == nil && (len(reply) < 28 || len(reply) > 28+oncrpc.MaxAuthBody) {
			t.Errorf("a reply of %d bytes is accepted", len(reply))
		}
		if n := tr.released.Load(); n != 1 {
			t.Errorf("released %d times", n)
		}
	})
}
