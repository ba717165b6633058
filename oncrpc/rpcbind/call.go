package rpcbind

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
)

// Room for results in bytes, for transports that must know it in advance.
const (
	maxAnswer = 4 + maxString // an address, the longest result except lists
	maxList   = 512 << 10     // maxEntries mappings of usual lengths
)

// call calls a procedure. An rpcbind closes connections that are idle for half a minute, and may be
// restarted. So a call that fails with its connection is repeated once over a new one. All
// procedures may be repeated.
func (c *Client) call(
	ctx context.Context, version uint32, p proc, args oncrpc.Marshaler, reply oncrpc.Unmarshaler,
) error {
	conn, err := c.connection(ctx, nil)
	if err != nil {
		return err
	}
	err = callOver(ctx, conn, version, p, args, reply)
	var lost *recordmark.OpError
	if c.dial == nil || !errors.As(err, &lost) || ctx.Err() != nil {
		return err
	}
	conn.Close()
	next, dialErr := c.connection(ctx, conn)
	if dialErr != nil {
		return fmt.Errorf("%w; then %w", err, dialErr)
	}
	return callOver(ctx, next, version, p, args, reply)
}

func callOver(
	ctx context.Context, conn oncrpc.Transport, version uint32, p proc,
	args oncrpc.Marshaler, reply oncrpc.Unmarshaler,
) error {
	req := oncrpc.Request{Procedure: uint32(p), Args: args, Reply: reply, MaxReply: maxAnswer}
	if p == procDump {
		req.MaxReply = maxList
	}
	err := oncrpc.NewClient(conn, Program, version, oncrpc.AuthNone()).Do(ctx, &req)
	var refused *oncrpc.AcceptError
	if version == Version4 && p <= procDump && errors.As(err, &refused) && refused.Stat == oncrpc.ProgMismatch {
		return callOver(ctx, conn, Version3, p, args, reply)
	}
	return err
}

// connection returns a connection other than failed, dialling if necessary.
func (c *Client) connection(ctx context.Context, failed oncrpc.Transport) (oncrpc.Transport, error) {
	conn, err := c.existing(failed)
	if conn != nil || err != nil {
		return conn, err
	}
	if conn, err = c.dial(ctx); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		conn.Close()
		return nil, net.ErrClosed
	case c.conn != nil && c.conn != failed && c.conn.Err() == nil: // another call was faster
		conn.Close()
	default:
		c.conn = conn
	}
	return c.conn, nil
}

// existing returns the current connection, or nil if one must be dialled.
func (c *Client) existing(failed oncrpc.Transport) (oncrpc.Transport, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return nil, net.ErrClosed
	case c.dial == nil || c.conn != nil && c.conn != failed && c.conn.Err() == nil:
		return c.conn, nil
	}
	return nil, nil
}
