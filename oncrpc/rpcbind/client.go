package rpcbind

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// Client calls an rpcbind. Its methods may be called concurrently. All errors of theirs are of type
// *OpError.
type Client struct {
	dial func(context.Context) (oncrpc.Transport, error) // nil: there is one connection only

	mu     sync.Mutex // guards what follows
	conn   oncrpc.Transport
	closed bool
}

// NewClient returns a client that makes its calls over t, which it owns from now on: RPC over TCP
// or RPC-over-RDMA.
func NewClient(t oncrpc.Transport) *Client { return &Client{conn: t} }

// Set registers m. The error wraps ErrRefused if the program and version are registered with
// another address for that netid, or the caller may not register. To register what is registered
// already is none.
func (c *Client) Set(ctx context.Context, m Mapping) error {
	return c.change(ctx, Version4, procSet, m, &m)
}

// Unset removes the mapping of m.Program, m.Version and m.Netid, or with an empty netid of all of
// them. The error wraps ErrRefused if it is another owner's; servers other than Linux's may say so
// of one that is not there.
func (c *Client) Unset(ctx context.Context, m Mapping) error {
	return c.change(ctx, Version4, procUnset, m, &m)
}

// GetAddr returns the address of m.Program, m.Version and m.Netid; the other fields are not looked
// at. The error wraps ErrNotRegistered if there is none. If m.Netid is that of the connection, or
// empty, this is GETADDR: the server fits an address like 0.0.0.0 to that of the caller, and may
// give the address of another version of the program. If not, it is found in the results of Dump,
// as it was registered.
func (c *Client) GetAddr(ctx context.Context, m Mapping) (string, error) {
	return c.lookup(ctx, procGetAddr, m)
}

// GetVersAddr is GetAddr for m.Version alone.
func (c *Client) GetVersAddr(ctx context.Context, m Mapping) (string, error) {
	return c.lookup(ctx, procGetVersAddr, m)
}

// Dump returns all mappings. A server's list of more than 4096 is an error.
func (c *Client) Dump(ctx context.Context) ([]Mapping, error) {
	var l mappings
	if err := c.call(ctx, Version4, procDump, nil, &l); err != nil {
		return nil, opError("dump", nil, err)
	}
	return l, nil
}

// Close ends the connection. Calls under way and later ones fail with an error that wraps
// net.ErrClosed.
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
	case errors.As(err, &auth): // the answer to strangers
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
