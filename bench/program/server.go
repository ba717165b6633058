package program

import (
	"context"
	"unsafe"

	"github.com/rpcrdma/go-rpcrdma/bench/host"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// New returns the program, with memory of its own.
func New() oncrpc.Program {
	p := &payloads{source: host.Pattern(MaxPayload)}
	return oncrpc.Program{Name: "bench", Number: Number, Version: Version, Procedures: []oncrpc.Procedure{
		Take: {Name: "TAKE", NonBlocking: true, Handler: p.take},
		Give: {Name: "GIVE", NonBlocking: true, Handler: p.give},
	}}
}

// payloads is the memory of the procedures.
type payloads struct {
	source []byte // for all replies
	sinks  sinks
}

func (p *payloads) take(ctx context.Context, c *oncrpc.Call) error {
	b := c.Args.Bulk(MaxPayload)
	if err := c.Args.Finish(); err != nil {
		return err
	}
	inPlace, err := aligned(ctx, b)
	if err == nil && !inPlace {
		s := p.sinks.get(b.Len())
		s.list[0] = s.memory[:b.Len()]
		err = b.FetchInto(ctx, s.list[:])
		p.sinks.put(s)
	}
	if err != nil {
		return err
	}
	c.Results.Uint32(uint32(b.Len()))
	return nil
}

// aligned reports whether data has arrived and lies at the beginning of a page.
func aligned(ctx context.Context, b xdr.Bulk) (bool, error) {
	if !b.Ready() {
		return false, nil
	}
	data, err := b.Bytes(ctx)
	return err == nil && uintptr(unsafe.Pointer(unsafe.SliceData(data)))%Page == 0, err
}

func (p *payloads) give(_ context.Context, c *oncrpc.Call) error {
	n := c.Args.Uint32()
	if err := c.Args.Finish(); err != nil {
		return err
	}
	if n > MaxPayload {
		return oncrpc.ErrGarbageArgs
	}
	c.Results.BulkBytes(p.source[:n], nil)
	return nil
}
