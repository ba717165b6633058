package rpcrdma

import (
	"net"
	"slices"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/budget"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma/internal/memory"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// These tests are inside the package for what a peer cannot see: the order in which a provider gets
// memory back, and replies that are ready after the end.

// endedEndpoint is an endpoint whose connection has ended.
type endedEndpoint struct {
	transport.Endpoint
	domain transport.Domain
}

func (e endedEndpoint) Info() transport.Info     { return transport.Info{RecvDepth: 1024} }
func (e endedEndpoint) Domain() transport.Domain { return e.domain }
func (e endedEndpoint) Err() error               { return net.ErrClosed }

func (e endedEndpoint) Done() <-chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}

// newEndedConn returns a connection that has not noticed the end of its endpoint, and a function
// that makes calls of its peer.
func newEndedConn(t *testing.T, d transport.Domain, cfg Config) (*Conn, func() *incoming) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	b := budgets{chunks: budget.New[incoming](cfg.ServerMemory)}
	c, err := newConn(endedEndpoint{domain: d}, &cfg, newShared(d), b)
	if err != nil {
		t.Fatal(err)
	}
	return c, func() *incoming {
		c.granter.CallReceived()
		in := c.responder.newIncoming(new(memory.Receive))
		in.recv = nil // which was never posted
		return in
	}
}

// importingDomain notes what is given back to it.
type importingDomain struct {
	loopback.Domain
	log []string
}

func (d *importingDomain) Import(p []byte, _ transport.Access) (transport.Slice, error) {
	return transport.Slice{Bytes: p}, nil
}

func (d *importingDomain) Release(transport.Slice) { d.log = append(d.log, "end of the import") }

func (d *importingDomain) Free(s transport.Slice) {
	d.log = append(d.log, "memory freed")
	d.Domain.Free(s)
}

type released func()

func (f released) Release() { f() }

// TestReplyOfArguments: a reply refers to fetched arguments. Its data is released, and its import
// ends, before that memory goes back.
func TestReplyOfArguments(t *testing.T) {
	d := new(importingDomain)
	c, call := newEndedConn(t, d, Config{})
	c.shared.Close() // so that no memory is kept
	in := call()
	s, err := c.shared.Get(4096, transport.LocalWrite)
	if err != nil {
		t.Fatal(err)
	}
	in.args.loads = append(in.args.loads, s)
	var e xdr.Encoder
	e.BulkBytes(s.Bytes, released(func() { d.log = append(d.log, "data released") }))
	in.reply.message = e.Message()
	if _, err := in.reply.source(in.reply.message.Bulk[0].Data, len(s.Bytes)); err != nil {
		t.Fatal(err)
	}
	in.giveBack()
	want := []string{"data released", "end of the import", "memory freed"}
	if !slices.Equal(d.log, want) {
		t.Errorf("given back in the order %q, want %q", d.log, want)
	}
}

// TestNothingWithheldAfterEnd: a handler replies after its connection has ended, while RDMA_DONEs
// are owed that will not come any more.
func TestNothingWithheldAfterEnd(t *testing.T) {
	c, call := newEndedConn(t, new(loopback.Domain), Config{Dialect: Draft, Credits: 16})
	pin := func(pinned int64) (in *incoming, may bool) {
		in = call()
		in.reply.read.pinned = pinned
		return in, c.draft.pinned.pin(in)
	}
	for range c.cfg.Credits {
		if _, may := pin(1); !may {
			t.Fatal("withheld without a reason")
		}
	}
	late, may := pin(1)
	if may {
		t.Fatal("more RDMA_DONEs owed than there are credits")
	}
	if c.watch(); late.turn.Load() != 1 {
		t.Error("a call whose reply was withheld has not ended")
	}
	if _, may := pin(1 << 30); !may {
		t.Error("a reply is withheld that nothing would ever send")
	}
}
