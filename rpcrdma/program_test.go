package rpcrdma_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// The test program. All of its procedures take an items and, except where noted, return one.
const (
	testProgram = 400_000
	procNull    = 0
	procEcho    = 1 // returns its arguments
	procBlock   = 2 // like echo, after receiving from program.gate
	procSink    = 3 // takes items, returns none
	procSource  = 4 // returns count items of size bytes, made by pattern
	procFail    = 5 // SYSTEM_ERR
)

// items is count bulk items between two words.
type items struct {
	data [][]byte
	land bool // decode into data, whose elements have the right lengths
	tail uint32
}

func (a *items) MarshalXDR(e *xdr.Encoder) {
	e.Uint32(uint32(len(a.data)))
	for _, p := range a.data {
		e.Uint32(0xfeedbeef) // something between them
		e.BulkBytes(p, nil)
	}
	e.Uint32(a.tail)
}

func (a *items) UnmarshalXDR(d *xdr.Decoder) {
	n := d.Count(64, 8)
	if !a.land {
		a.data = make([][]byte, n)
	}
	for i := range n {
		if d.Uint32() != 0xfeedbeef {
			d.Fail(xdr.ErrValue)
		}
		b := d.Bulk(1 << 26)
		if !a.land {
			a.data[i] = make([]byte, b.Len())
		}
		a.data[i] = a.data[i][:b.CopyTo(a.data[i])]
	}
	a.tail = d.Uint32()
}

// len returns the encoded length without the data.
func (a *items) len() int { return 4 + 8*len(a.data) + 4 }

// source is the arguments of procSource.
type source struct{ count, size uint32 }

func (s *source) MarshalXDR(e *xdr.Encoder) {
	e.Uint32(s.count)
	e.Uint32(s.size)
}

// pattern returns n bytes that depend on seed.
func pattern(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 0))
	p := make([]byte, (n+7)&^7)
	for i := 0; i < len(p); i += 8 {
		binary.LittleEndian.PutUint64(p[i:], r.Uint64())
	}
	return p[:n:n]
}

// program is the test program and its records.
type program struct {
	gate    chan struct{}      // procBlock receives from it once
	entered chan struct{}      // procBlock has begun
	freed   chan struct{}      // reply data of procSource was released
	calls   chan *items        // the arguments of procSink
	conns   chan *rpcrdma.Conn // connections of procNull
	fetch   func(items int)    // called before items are fetched, if set
}

func newProgram() *program {
	return &program{
		gate: make(chan struct{}), entered: make(chan struct{}, 1024), freed: make(chan struct{}, 4096),
		calls: make(chan *items, 1024), conns: make(chan *rpcrdma.Conn, 1024),
	}
}

type releaseFunc func()

func (f releaseFunc) Release() { f() }

func (p *program) take(ctx context.Context, c *oncrpc.Call) (*items, error) {
	a := &items{}
	n := c.Args.Count(64, 8)
	var bulk []xdr.Bulk
	for range n {
		c.Args.Uint32()
		bulk = append(bulk, c.Args.Bulk(1<<26))
	}
	a.tail = c.Args.Uint32()
	if err := c.Args.Finish(); err != nil {
		return nil, err
	}
	if p.fetch != nil {
		p.fetch(n)
	}
	for i, b := range bulk {
		switch i % 3 {
		case 0: // into other memory, in pieces
			q := make([]byte, b.Len())
			k := b.Len() / 3
			if err := b.FetchInto(ctx, [][]byte{q[:k], nil, q[k:]}); err != nil {
				return nil, err
			}
			a.data = append(a.data, q)
		case 1:
			q, err := b.Bytes(ctx)
			if err != nil {
				return nil, err
			}
			a.data = append(a.data, bytes.Clone(q))
		case 2:
			q, r, err := b.Take(ctx)
			if err != nil {
				return nil, err
			}
			a.data = append(a.data, bytes.Clone(q))
			r.Release()
		}
	}
	return a, nil
}

func (p *program) program() oncrpc.Program {
	echo := func(ctx context.Context, c *oncrpc.Call) error {
		a, err := p.take(ctx, c)
		if err != nil {
			return err
		}
		a.MarshalXDR(c.Results)
		return nil
	}
	return oncrpc.Program{Name: "test", Number: testProgram, Version: 1, Procedures: []oncrpc.Procedure{
		procNull: {Name: "NULL", NonBlocking: true, Handler: func(_ context.Context, c *oncrpc.Call) error {
			if conn, ok := c.Conn.(*rpcrdma.Conn); ok {
				select {
				case p.conns <- conn:
				default:
				}
			}
			return nil
		}},
		procEcho: {Name: "ECHO", Handler: echo, NonBlocking: true},
		procBlock: {Name: "BLOCK", Handler: func(ctx context.Context, c *oncrpc.Call) error {
			p.entered <- struct{}{}
			select {
			case <-p.gate:
			case <-ctx.Done():
				return ctx.Err()
			}
			return echo(ctx, c)
		}},
		procSink: {Name: "SINK", Handler: func(ctx context.Context, c *oncrpc.Call) error {
			a, err := p.take(ctx, c)
			if err == nil {
				p.calls <- a
			}
			return err
		}},
		procSource: {Name: "SOURCE", NonBlocking: true, Handler: func(_ context.Context, c *oncrpc.Call) error {
			count, size := c.Args.Uint32(), c.Args.Uint32()
			if size > 1<<26 || count > 64 {
				return oncrpc.ErrGarbageArgs
			}
			c.Results.Uint32(count)
			for i := range count {
				c.Results.Uint32(0xfeedbeef)
				c.Results.BulkBytes(pattern(uint64(i), int(size)), releaseFunc(func() { p.freed <- struct{}{} }))
			}
			c.Results.Uint32(7)
			return nil
		}},
		procFail: {Name: "FAIL", NonBlocking: true, Handler: func(context.Context, *oncrpc.Call) error {
			return errors.New("it failed")
		}},
	}}
}
