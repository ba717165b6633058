package rpcrdma

import (
	"context"
	"errors"
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma/internal/memory"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma/internal/post"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma/internal/wire"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// arguments are the read chunks of a call, and what has been fetched of them. It is the
// xdr.BulkSource of the call. The handler fetches one chunk at a time.
type arguments struct {
	in     *incoming
	lists  wire.Lists
	chunks []xdr.Chunk       // the read list without the message, for the handler
	loads  []transport.Slice // memory of the pool that holds what was fetched
	into   []transport.Slice // the target of a Fetch or Load
	chain  post.Chain
	asked  int             // bytes of the Reads under way
	err    error           // the first error of these Reads
	done   chan error      // of capacity 1: the result of a Fetch or Load
	seen   xdr.BulkWatcher // of the Reads under way, or nil
	heard  uint64          // for a long message that may be a reply: its number (draftambiguous.go)
}

// errNoBuffer: there is no memory for a long message.
var errNoBuffer = errors.New("no buffer for a long message")

// readMessage begins to fetch a long message. done completes the Reads; the last has a Context of
// nil.
func (a *arguments) readMessage(done transport.Completer) error {
	n := a.lists.Reads[0].Len
	s, err := a.in.l.shared.Get(n, transport.LocalWrite)
	if err != nil {
		return fmt.Errorf("%w: %w", errNoBuffer, err)
	}
	a.loads = append(a.loads, s)
	a.in.message.Body = s.Bytes
	return a.read(a.lists.Reads[0].Segments, n, a.loads[:1], done, nil)
}

// describe makes xdr.Chunks of the read chunks, for the decoder.
func (a *arguments) describe() {
	for i := range a.lists.Reads {
		if a.lists.Long && i == 0 {
			continue
		}
		ch := &a.lists.Reads[i]
		a.chunks = append(a.chunks, xdr.Chunk{
			Position: ch.Position, Len: ch.Len, Source: a, ID: a.chunkID(i),
		})
	}
}

// Fetch reads a chunk of the call into dst. It implements xdr.BulkSource.
func (a *arguments) Fetch(ctx context.Context, id, n int, dst [][]byte, w xdr.BulkWatcher) error {
	id = a.chunk(id)
	l := a.in.l
	if l.importer == nil {
		s, err := l.shared.Get(n, transport.LocalWrite)
		if err != nil {
			return a.opError(err)
		}
		defer l.shared.Put(s, transport.LocalWrite)
		a.into = append(a.into[:0], s)
		if err := a.fetch(ctx, id, n, w); err != nil {
			return err
		}
		rest := s.Bytes
		for _, p := range dst {
			rest = rest[copy(p, rest):]
		}
		return nil
	}
	a.into = a.into[:0]
	defer func() { a.into = l.endImports(a.into) }()
	for left := n; left > 0; dst = dst[1:] {
		p := dst[0][:min(left, len(dst[0]))]
		if len(p) == 0 {
			continue
		}
		s, err := l.importer.Import(p, transport.LocalWrite)
		if err != nil {
			return a.opError(err)
		}
		a.into = append(a.into, s)
		left -= len(p)
	}
	return a.fetch(ctx, id, n, w)
}

// Load reads a chunk of the call into memory of the pool. It implements xdr.BulkSource.
func (a *arguments) Load(ctx context.Context, id, n int, take bool, w xdr.BulkWatcher) ([]byte,
	xdr.Releaser, error) {
	id = a.chunk(id)
	p := a.in.l.shared.Pool
	s, err := p.Get(n, transport.LocalWrite)
	if err != nil {
		return nil, nil, a.opError(err)
	}
	a.into = append(a.into[:0], s)
	err = a.fetch(ctx, id, n, w)
	a.into = a.into[:0]
	if err != nil {
		p.Put(s, transport.LocalWrite)
		return nil, nil, err
	}
	if take {
		return s.Bytes, &taken{p, s}, nil
	}
	a.loads = append(a.loads, s)
	return s.Bytes, nil, nil
}

// chunkBits is how many bits of a chunk's ID are its index. They hold chunks.MaxSegments.
const chunkBits = 12

// chunkID returns the ID of read chunk i. It differs from the IDs of other calls in the same
// memory.
func (a *arguments) chunkID(i int) int { return int(a.in.turn.Load())<<chunkBits | i }

// chunk returns the index of the chunk with that ID. It panics if its call has ended.
func (a *arguments) chunk(id int) int {
	i := id & (1<<chunkBits - 1)
	if id != a.chunkID(i) {
		panic("rpcrdma: bulk data fetched after its call has ended: " +
			"was it kept by a goroutine that outlived the handler?")
	}
	return i
}

// taken is memory of the pool that a handler has taken over.
type taken struct {
	p *memory.Pool
	s transport.Slice
}

// Release gives it back.
func (t *taken) Release() {
	t.p.Put(t.s, transport.LocalWrite)
	t.s = transport.Slice{}
}

// fetch reads n bytes of a chunk and waits for the end. The end of ctx counts only before it
// begins, because the memory must stay while a Read may fill it.
func (a *arguments) fetch(ctx context.Context, id, n int, w xdr.BulkWatcher) error {
	if err := ctx.Err(); err != nil {
		return a.opError(err)
	}
	err := a.read(a.lists.Reads[id].Segments, n, a.into, (*fetchRead)(a), w)
	if err == nil {
		err = a.wait()
	}
	if err != nil {
		// The connection has ended. Conn.watch ends the contexts of calls only when everything has
		// been flushed; the handler that gets this error should see that earlier.
		a.in.l.cancel()
		return a.opError(err)
	}
	return nil
}

// wait waits for the end of a Fetch or Load.
func (a *arguments) wait() error {
	select {
	case err := <-a.done: // done already, by polling
		return err
	default:
	}
	if c := a.in.call; c != nil { // nil if the call is forwarded
		c.BeginWait()
		defer c.EndWait()
	}
	return <-a.done
}

func (a *arguments) opError(err error) error {
	return &OpError{"fetch", a.in.l.info.RemoteAddr, err}
}

// fetchRead is the Completer of the Reads of a Fetch or Load.
type fetchRead arguments

// Complete wakes the handler when the last Read is complete.
func (f *fetchRead) Complete(wr *transport.WorkRequest, err error) {
	a := (*arguments)(f)
	if last, err := a.completed(wr, err); last {
		a.done <- err
	}
}

// read posts RDMA Reads of the first n bytes of segments into dst, which w sees unless it is nil.
// The last Read has a Context of nil.
func (a *arguments) read(segments []chunks.ReadSegment, n int, dst []transport.Slice,
	done transport.Completer, w xdr.BulkWatcher) error {
	l := a.in.l
	a.err, a.asked, a.seen = nil, n, w
	a.chain.Begin(len(segments), &l.info)
	l.gate.Divide(&a.chain)
	a.chain.AddReads(segments, n, dst, done)
	a.in.waits(forReads)
	err := l.gate.Post(&a.chain)
	if err != nil {
		a.in.goesOn()
	}
	return err
}

// completed notes the end of a Read. It reports whether it was the last one, and the first error of
// all of them.
func (a *arguments) completed(wr *transport.WorkRequest, err error) (last bool, first error) {
	l := a.in.l
	l.queue.Completed()
	if a.err == nil {
		a.err = err
	}
	if a.err == nil && a.seen != nil {
		for i := range wr.Local {
			a.seen.Arrived(wr.Local[i].Bytes)
		}
	}
	last = post.IsLast(wr)
	l.gate.Done(transport.TotalLen(wr.Local))
	if !last {
		return false, nil
	}
	a.in.goesOn()
	if a.err == nil {
		add(&l.traffic.ReadChunkReceived, a.asked)
	}
	return true, a.err
}

// unload gives back the memory that holds fetched chunks.
func (a *arguments) unload() {
	for _, s := range a.loads {
		a.in.l.shared.Put(s, transport.LocalWrite)
	}
	clear(a.loads)
	a.loads = a.loads[:0]
}

// release gives back the memory of the arguments.
func (a *arguments) release() {
	if len(a.lists.Reads)+len(a.loads) == 0 { // the common case
		return
	}
	a.unload()
	clear(a.lists.Reads)
	clear(a.chunks)
	a.lists.Reads, a.lists.Long, a.chunks = a.lists.Reads[:0], false, a.chunks[:0]
	a.chain, a.err = a.chain.Cleared(), nil
}
