package rpcrdma

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// longRead is told how the fetching of a long message goes.
type longRead incoming

// Complete goes on with the call when the last Read is complete.
func (r *longRead) Complete(wr *transport.WorkRequest, err error) {
	in := (*incoming)(r)
	last, err := in.fetchDone(wr, err)
	if !last {
		return
	}
	if err != nil {
		in.abort(err)
		return
	}
	b := in.body
	switch {
	case len(b) >= 8 && oncrpc.MsgType(binary.BigEndian.Uint32(b[4:])) == oncrpc.MsgReply:
		in.isReply()
		return
	case len(b) < 8 || oncrpc.MsgType(binary.BigEndian.Uint32(b[4:])) != oncrpc.MsgCall:
		err = fmt.Errorf("%w: no call in the chunk at position 0", ErrMalformed)
	case binary.BigEndian.Uint32(b) != in.header.XID:
		err = ErrXID
	}
	doubtful := in.doubtful
	if doubtful {
		in.isCall()
	}
	switch {
	case err != nil:
		in.c.fault(&in.c.stats.malformed, "call refused", in.header.XID, err)
		in.refuse(ErrChunk)
	case doubtful:
		in.admit()
	default:
		in.begin()
	}
}

// Fetch reads a chunk of the call into dst: xdr.BulkSource.
func (in *incoming) Fetch(ctx context.Context, id, n int, dst [][]byte) error {
	id = in.chunk(id)
	c := in.c
	if c.importer == nil {
		s, err := c.pool.get(n, transport.LocalWrite)
		if err != nil {
			return in.opError(err)
		}
		defer c.pool.put(s, transport.LocalWrite)
		in.imports = append(in.imports[:0], s)
		if err := in.fetch(ctx, id, n); err != nil {
			return err
		}
		rest := s.Bytes
		for _, p := range dst {
			rest = rest[copy(p, rest):]
		}
		return nil
	}
	in.imports = in.imports[:0]
	defer in.releaseImports()
	for left := n; len(dst) > 0 && left > 0; dst = dst[1:] {
		p := dst[0][:min(left, len(dst[0]))]
		s, err := c.importer.Import(p, transport.LocalWrite)
		if err != nil {
			return in.opError(err)
		}
		in.imports = append(in.imports, s)
		left -= len(p)
	}
	return in.fetch(ctx, id, n)
}

// Load reads a chunk of the call into memory of the pool: xdr.BulkSource.
func (in *incoming) Load(ctx context.Context, id, n int, take bool) ([]byte, xdr.Releaser, error) {
	id = in.chunk(id)
	s, err := in.c.pool.get(n, transport.LocalWrite)
	if err != nil {
		return nil, nil, in.opError(err)
	}
	in.imports = append(in.imports[:0], s)
	err = in.fetch(ctx, id, n)
	in.imports = in.imports[:0]
	if err != nil {
		in.c.pool.put(s, transport.LocalWrite)
		return nil, nil, err
	}
	if take {
		return s.Bytes, &taken{in.c.pool, s}, nil
	}
	in.loads = append(in.loads, s)
	return s.Bytes, nil, nil
}

// chunkBits is how many bits of a chunk's ID are its index: no header has more read chunks than chunks.MaxSegments.
const chunkBits = 12

// chunkID is the ID of read chunk i of the call: of this one, and not of another that is in the same memory later.
func (in *incoming) chunkID(i int) int { return int(in.turn.Load())<<chunkBits | i }

// chunk returns the index of the chunk with that ID. It panics if its call has ended.
func (in *incoming) chunk(id int) int {
	i := id & (1<<chunkBits - 1)
	if id != in.chunkID(i) {
		panic("rpcrdma: bulk data fetched after its call has ended: was it kept by a goroutine that outlived the handler?")
	}
	return i
}

// taken is pool memory that a handler has taken.
type taken struct {
	p *pool
	s transport.Slice
}

// Release gives it back.
func (t *taken) Release() {
	t.p.put(t.s, transport.LocalWrite)
	t.s = transport.Slice{}
}

// fetch reads n bytes of a chunk into in.imports and waits for the end: memory that a Read may still fill
// cannot be let go of, so ctx counts only before it begins.
func (in *incoming) fetch(ctx context.Context, id, n int) error {
	if err := ctx.Err(); err != nil {
		return in.opError(err)
	}
	if err := in.read(in.reads[id].Segments, n, in.imports, (*fetchRead)(in)); err != nil {
		return in.cut(err)
	}
	var err error
	select {
	case err = <-in.fetched: // it was polled
	default:
		in.server.BeginWait()
		err = <-in.fetched
		in.server.EndWait()
	}
	if err != nil {
		return in.cut(err)
	}
	return nil
}

// cut is for a Read that failed, or could not be posted, as the connection has ended. Its goroutine ends the contexts of calls only when all has been
// flushed (watch); who gets this error is to see that earlier.
func (in *incoming) cut(err error) error {
	in.c.cancel()
	return in.opError(err)
}

func (in *incoming) opError(err error) error {
	return &OpError{"fetch", in.c.info.RemoteAddr, err}
}

// fetchRead is told how a Fetch goes.
type fetchRead incoming

// Complete wakes the handler when the last Read is complete.
func (f *fetchRead) Complete(wr *transport.WorkRequest, err error) {
	in := (*incoming)(f)
	if last, err := in.fetchDone(wr, err); last {
		in.fetched <- err
	}
}

// read posts the RDMA Reads of the first n bytes of segments into dst. The last completes
// with a Context of nil.
func (in *incoming) read(segments []chunks.ReadSegment, n int, dst []transport.Slice, done transport.Completer) error {
	c := in.c
	in.readErr = nil
	in.chain.begins(len(segments), &c.info)
	in.chain.addReads(segments, n, dst, done)
	c.mu.Lock()
	c.stalls.add(in)
	c.mu.Unlock()
	in.gated = c.gate.limits()
	err := c.gate.post(&in.chain, in.gated)
	if err != nil {
		c.mu.Lock()
		c.stalls.remove(in)
		c.mu.Unlock()
	}
	return err
}

// fetchDone notes the end of a Read, and reports whether it was the last, with the first error of all.
func (in *incoming) fetchDone(wr *transport.WorkRequest, err error) (last bool, first error) {
	c := in.c
	c.queue.completed()
	if in.readErr == nil {
		in.readErr = err
	}
	last = wr.Context == nil
	if in.gated {
		c.gate.done()
	}
	if !last {
		return false, nil
	}
	c.mu.Lock()
	c.stalls.remove(in)
	c.mu.Unlock()
	return true, in.readErr
}

// releaseImports ends the use of memory that is not the pool's.
func (in *incoming) releaseImports() {
	if in.c.importer != nil {
		for _, s := range in.imports {
			in.c.importer.Release(s)
		}
	}
	clear(in.imports)
	in.imports = in.imports[:0]
}
