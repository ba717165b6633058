package matrix

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// The RPC program of the cells. Procedure i, counted from 1, takes the arguments of the i-th cell
// and returns its results.
const (
	Program = 400_008
	Version = 1
)

// maxItem is the largest length of an item in bytes.
const maxItem = 1 << 26

// Server answers the calls of cells and checks their arguments.
type Server struct {
	*oncrpc.Server

	mu   sync.Mutex // guards errs
	errs []error
}

// NewServer returns a server for these cells.
func NewServer(cells ...*Cell) *Server {
	s := &Server{Server: oncrpc.NewServer(oncrpc.ServerConfig{Logger: slog.New(slog.DiscardHandler)})}
	procs := []oncrpc.Procedure{{Name: "NULL"}}
	for _, c := range cells {
		procs = append(procs, oncrpc.Procedure{Name: c.Name,
			Handler: func(ctx context.Context, call *oncrpc.Call) error {
				if err := take(ctx, call.Args, c.Args); err != nil {
					s.mu.Lock()
					defer s.mu.Unlock()
					s.errs = append(s.errs, fmt.Errorf("%s: %w", c.Name, err))
					return err
				}
				(&list{items: c.Results, seed: ResultSeed}).MarshalXDR(call.Results)
				return nil
			}})
	}
	if err := s.Handle(oncrpc.Program{Name: "matrix", Number: Program, Version: Version,
		Procedures: procs}); err != nil {
		panic(err) // the server is new
	}
	return s
}

// Err returns the errors found in the arguments of calls.
func (s *Server) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.errs...)
}

// take decodes and fetches arguments, and compares them with want.
func take(ctx context.Context, d *xdr.Decoder, want []Item) error {
	got := list{bulk: []xdr.Bulk{}}
	got.UnmarshalXDR(d)
	if err := d.Finish(); err != nil {
		return err
	}
	for i, b := range got.bulk {
		if got.items[i].Text {
			continue
		}
		data := make([]byte, b.Len())
		if i%2 == 0 { // into other memory, in pieces
			if err := b.FetchInto(ctx, [][]byte{data[:b.Len()/3], data[b.Len()/3:]}); err != nil {
				return err
			}
		} else {
			p, err := b.Bytes(ctx)
			if err != nil {
				return err
			}
			copy(data, p)
		}
		got.data[i] = data
	}
	return got.compare(want, ArgSeed)
}

// list encodes and decodes arguments or results.
type list struct {
	items []Item
	seed  int

	rooms [][]byte // buffers for decoded results
	data  [][]byte
	bulk  []xdr.Bulk // if not nil, bulk items are not copied from here to data
}

// MarshalXDR encodes the items, with one word before each and one at the end.
func (l *list) MarshalXDR(e *xdr.Encoder) {
	e.Uint32(uint32(len(l.items)))
	for i, it := range l.items {
		p := Data(l.seed, i, it.Len)
		if it.Text {
			e.Uint32(TextMark)
			e.Opaque(p, maxItem)
		} else {
			e.Uint32(BulkMark)
			e.BulkBytes(p, nil)
		}
	}
	e.Uint32(Tail)
}

// UnmarshalXDR decodes the items.
func (l *list) UnmarshalXDR(d *xdr.Decoder) {
	n := d.Count(1024, 8)
	rooms := l.rooms
	for range n {
		switch d.Uint32() {
		case TextMark:
			p := d.Opaque(maxItem)
			l.items = append(l.items, text(len(p)))
			l.data = append(l.data, bytes.Clone(p))
			l.bulk = append(l.bulk, xdr.Bulk{})
		case BulkMark:
			b := d.Bulk(maxItem)
			l.items = append(l.items, bulk(b.Len()))
			l.bulk = append(l.bulk, b)
			var p []byte
			if l.rooms != nil {
				if len(rooms) > 0 && len(rooms[0]) >= b.Len() {
					p = rooms[0]
				} else {
					p = make([]byte, b.Len())
				}
				rooms = rooms[min(1, len(rooms)):]
				p = p[:b.CopyTo(p)]
			}
			l.data = append(l.data, p)
		default:
			d.Fail(xdr.ErrValue)
			return
		}
	}
	if d.Uint32() != Tail {
		d.Fail(xdr.ErrValue)
	}
}

// compare returns an error if the items differ from want.
func (l *list) compare(want []Item, seed int) error {
	if len(l.items) != len(want) {
		return fmt.Errorf("%d items %v, want %d", len(l.items), l.items, len(want))
	}
	for i, it := range want {
		if l.items[i] != it {
			return fmt.Errorf("item %d is %v, want %v", i, l.items[i], it)
		}
		if !bytes.Equal(l.data[i], Data(seed, i, it.Len)) {
			return fmt.Errorf("item %d, %v, has other data: %d bytes", i, it, len(l.data[i]))
		}
	}
	return nil
}
