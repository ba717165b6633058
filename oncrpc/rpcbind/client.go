package rpcbind

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// Client calls an rpcbind. It is safe for concurrent use. All its errors are of type *OpError.
type Client struct {
	dial func(context.Context) (oncrpc.Transport, error) // nil if it cannot reconnect

	mu     sync.Mutex // guards the fields below
	conn   oncrpc.Transport
	closed bool
}

// NewClient returns a client that calls over t, and owns t from then on. t may be RPC over TCP or
// RPC-over-RDMA.
func NewClient(t oncrpc.Transport) *Client { return &Client{conn: t} }

// Set registers m. The error wraps ErrRefused if the program and version are registered with
// another address for that netid, or if the caller may not register. Registering the same mapping
// again is no error.
func (c *Client) Set(ctx context.Context, m Mapping) error {
	return c.change(ctx, Version4, procSet, m, &m)
}

// Unset removes the mapping of m.Program, m.Version and m.Netid, or those of all netids if m.Netid
// is empty. The error wraps ErrRefused if another user owns the mapping. Servers other than Linux's
// may return it if there is no such mapping.
func (c *Client) Unset(ctx context.Context, m Mapping) error {
	return c.change(ctx, Version4, procUnset, m, &m)
}

// GetAddr returns the address of m.Program, m.Version and m.Netid; it ignores the other fields. The
// error wraps ErrNotRegistered if there is none.
//
// If m.Netid is empty or that of the connection, this calls GETADDR. The server then replaces an
// address like 0.0.0.0 by one that the caller can reach, and may return the address of another
// version of the program. Otherwise GetAddr searches the results of Dump, which contain addresses
// as registered.
func (c *Client) GetAddr(ctx context.Context, m Mapping) (string, error) {
	return c.lookup(ctx, procGetAddr, m)
}

// GetVersAddr is like GetAddr, but never returns the address of another version.
func (c *Client) GetVersAddr(ctx context.Context, m Mapping) (string, error) {
	return c.lookup(ctx, procGetVersAddr, m)
}

// Dump returns all mappings. A list of more than 4096 is an error.
func (c *Client) Dump(ctx context.Context) ([]Mapping, error) {
	var l mappings
	if err := c.call(ctx, Version4, procDump, nil, &l); err != nil {
		return nil, opError("dump", nil, err)
	}
	return l, nil
}

// Close ends the connection. Pending and later calls fail with an error that wraps net.ErrClosed.
func (c *Client) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.conn == nil {
		return nil
	}
	return c.conn.Close()
}

// change calls SET or UNSET.
func (c *Client) change(ctx context.Context, version uint32, p proc, m fmt.Stringer, args oncrpc.Marshaler) error {
	var ok done
	err := c.call(ctx, version, p, args, &ok)
	var auth *oncrpc.AuthError
	switch {
	case errors.As(err, &auth): // the answer to callers of other machines
		err = fmt.Errorf("%w: %w", ErrRefused, err)
	case err == nil && !bool(ok):
		err = ErrRefused
	}
	if err != nil {
		return opError(p.String(), m, err)
	}
	return nil
}

// lookup calls GETADDR or GETVERSADDR, or DUMP.
func (c *Client) lookup(ctx context.Context, p proc, m Mapping) (string, error) {
	conn, err := c.connection(ctx, nil)
	if err != nil {
		return "", opError(p.String(), m, err)
	}
	if own := netid(conn, conn.RemoteAddr()); m.Netid != "" && m.Netid != own {
		all, err := c.Dump(ctx)
		if err != nil {
			return "", err
		}
		i := slices.IndexFunc(all, func(x Mapping) bool {
			return x.Program == m.Program && x.Version == m.Version && x.Netid == m.Netid
		})
		if i < 0 {
			return "", opError(p.String(), m, ErrNotRegistered)
		}
		return all[i].Addr, nil
	}
	m.Addr, m.Owner = "", ""
	var a address
	if err := c.call(ctx, Version4, p, &m, &a); err != nil {
		return "", opError(p.String(), m, err)
	}
	if a == "" {
		return "", opError(p.String(), m, ErrNotRegistered)
	}
	return string(a), nil
}
