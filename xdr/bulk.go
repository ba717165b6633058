package xdr

import (
	"bytes"
	"context"
	"fmt"
)

// Bulk is decoded bulk data, possibly not here yet. It is valid as long as the message it came
// from: in a handler until the handler returns, or, if the reply refers to it, until that has left.
//
// The bulk data of one message is fetched by one goroutine at a time. Who fetches waits for the
// peer, and must hold no lock that others need to make progress.
type Bulk struct {
	n    int
	data []byte // when src is nil
	src  BulkSource
	id   int
}

// Len returns the length in bytes.
func (b Bulk) Len() int { return b.n }

// First returns the first n bytes, or all if there are fewer. The others are not fetched.
func (b Bulk) First(n int) Bulk {
	if n < b.n {
		b.n = max(0, n)
		b.data = b.data[:min(b.n, len(b.data))]
	}
	return b
}

// Ready reports whether the data is here already, so that FetchInto, Bytes, Take and CopyTo do not
// block.
func (b Bulk) Ready() bool { return b.src == nil }

// FetchInto puts the data into dst, filling its slices in order, with one copy or none. The slices
// must hold Len bytes, or the error wraps ErrLimit; dst is no longer touched when it returns.
func (b Bulk) FetchInto(ctx context.Context, dst [][]byte) error {
	room := 0
	for _, p := range dst {
		room += len(p)
	}
	switch {
	case room < b.n:
		return fmt.Errorf("xdr: %d bytes of bulk data into %d: %w", b.n, room, ErrLimit)
	case b.n == 0:
		return nil
	case b.src != nil:
		return b.src.Fetch(ctx, b.id, b.n, dst)
	}
	rest := b.data
	for _, p := range dst {
		rest = rest[copy(p, rest):]
	}
	return nil
}

// Bytes returns the data as one run of bytes, fetched first if need be.
func (b Bulk) Bytes(ctx context.Context) ([]byte, error) {
	if b.src == nil || b.n == 0 {
		return b.data, nil
	}
	p, _, err := b.src.Load(ctx, b.id, b.n, false)
	return p, err
}

// Take is Bytes for data that shall outlive the message: it belongs to the caller
// until he calls the Releaser, which is never nil.
func (b Bulk) Take(ctx context.Context) ([]byte, Releaser, error) {
	if b.src == nil || b.n == 0 {
		return bytes.Clone(b.data), nothing{}, nil
	}
	return b.src.Load(ctx, b.id, b.n, true)
}

// CopyTo copies the data to p and returns the bytes copied: all of it, unless p is shorter or the
// connection ended while it was fetched. Data that landed in p already is not moved. It is for
// results whose length is to be looked at first: Decoder.BulkInto does for others. A handler can do
// better with FetchInto.
func (b Bulk) CopyTo(p []byte) int {
	if b.src != nil && b.n > 0 {
		data, err := b.Bytes(context.Background())
		if err != nil {
			return 0
		}
		return copy(p, data)
	}
	if len(b.data) > 0 && len(p) > 0 && &b.data[0] == &p[0] {
		return min(len(b.data), len(p))
	}
	return copy(p, b.data)
}

type nothing struct{}

func (nothing) Release() {}
