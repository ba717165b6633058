package xdr

import (
	"bytes"
	"context"
	"fmt"
)

// Bulk is decoded bulk data that may still be at the peer. It is valid as long as its message: in a
// handler, until the handler returns, or until the reply is sent if the reply refers to it.
//
// Only one goroutine at a time may fetch the bulk data of a message. Fetching waits for the peer,
// so do not hold a lock that others need meanwhile.
type Bulk struct {
	n       int
	data    []byte // when src is nil
	src     BulkSource
	id      int
	watcher BulkWatcher
}

// Len returns the length in bytes.
func (b Bulk) Len() int { return b.n }

// First returns the first n bytes, or all of them if there are fewer. The rest is not fetched.
func (b Bulk) First(n int) Bulk {
	if n < b.n {
		b.n = max(0, n)
		b.data = b.data[:min(b.n, len(b.data))]
	}
	return b
}

// Ready reports whether the data has arrived. If so, FetchInto, Bytes, Take and CopyTo do not
// block.
func (b Bulk) Ready() bool { return b.src == nil }

// FetchInto writes the data into dst, filling its slices in order. It copies the data at most once.
// If the slices hold fewer than Len bytes, the error wraps ErrLimit. FetchInto does not touch dst
// after it returns.
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
		return b.fetched(b.src.Fetch(ctx, b.id, b.n, dst, b.watcher))
	}
	rest := b.data
	for _, p := range dst {
		rest = rest[copy(p, rest):]
	}
	return nil
}

// Bytes returns the data in one slice, fetching it first if necessary.
func (b Bulk) Bytes(ctx context.Context) ([]byte, error) {
	if b.src == nil || b.n == 0 {
		return b.data, nil
	}
	p, _, err := b.load(ctx, false)
	return p, err
}

// Take is like Bytes for data that must outlive the message. The data belongs to the caller until
// the caller calls the Releaser, which is never nil.
func (b Bulk) Take(ctx context.Context) ([]byte, Releaser, error) {
	if b.src == nil || b.n == 0 {
		return bytes.Clone(b.data), nothing{}, nil
	}
	return b.load(ctx, true)
}

func (b Bulk) load(ctx context.Context, take bool) ([]byte, Releaser, error) {
	p, release, err := b.src.Load(ctx, b.id, b.n, take, b.watcher)
	failed := err != nil
	if err = b.fetched(err); err == nil {
		return p, release, nil
	}
	if take && !failed {
		release.Release()
	}
	return nil, nil, err
}

// fetched returns the result of a fetch that has ended with err.
func (b Bulk) fetched(err error) error {
	if b.watcher == nil {
		return err
	}
	return b.watcher.Fetched(b.n, err)
}

// CopyTo copies the data to p and returns the number of bytes copied: less than Len if p is
// shorter, or 0 if the data could not be fetched. Data that already landed in p is not moved. Use
// it for results whose length must be examined first; otherwise use Decoder.BulkInto. Handlers
// should use FetchInto, which takes a context and returns the error.
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
