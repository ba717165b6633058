package control

import (
	"context"

	"github.com/rpcrdma/go-rpcrdma/bench/host"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// Client calls the program of a server.
type Client struct{ rpc *oncrpc.Client }

// NewClient returns a client that calls over t.
func NewClient(t oncrpc.Transport) *Client {
	return &Client{oncrpc.NewClient(t, Number, Version, oncrpc.AuthNone())}
}

// Info returns where the server listens and what it is like.
func (c *Client) Info(ctx context.Context) (*Info, error) {
	i := new(Info)
	if err := c.rpc.Do(ctx, &oncrpc.Request{Procedure: procInfo, Reply: i, MaxReply: 4 * maxText}); err != nil {
		return nil, err
	}
	return i, nil
}

// Usage returns what the server's process has used so far. Its Conns do not count this connection.
func (c *Client) Usage(ctx context.Context) (host.Usage, error) {
	var u usage
	err := c.rpc.Call(ctx, procUsage, nil, &u)
	return host.Usage(u), err
}
