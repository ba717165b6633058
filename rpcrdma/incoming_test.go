package rpcrdma

import (
	"slices"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// This test is inside the package for the order in which a provider gets memory back: those here do
// not mind.

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

// TestReplyOfArguments: a reply refers to fetched arguments. Its data is released, and its import
// ends, before that memory goes back.
func TestReplyOfArguments(t *testing.T) {
	d := new(importingDomain)
	cfg, err := Config{Logger: quiet}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	p := newPool(d)
	c, err := newConn(newFakeEndpoint(1024, d), &cfg, &memory{pool: p, chunks: newBudget(cfg.ServerMemory)})
	if err != nil {
		t.Fatal(err)
	}
	c.connected()
	p.close() // so that no memory is kept
	in := getIncoming(c, unavailable)
	s, err := p.get(4096, transport.LocalWrite)
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
	if want := []string{"data released", "end of the import", "memory freed"}; !slices.Equal(d.log, want) {
		t.Errorf("given back in the order %q, want %q", d.log, want)
	}
}

type released func()

func (f released) Release() { f() }
