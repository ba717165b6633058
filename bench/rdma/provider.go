package rdma

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/paired"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

const (
	bulkBytes    = 1 << 20 // size of a Write or a Read
	outstanding  = 8       // Writes or Reads at a time
	messageBytes = 128     // size of a Send
	window       = 64      // Sends in flight
)

// Provider makes connections. Each end must have room for 264 work requests, 64 receives, and 8
// RDMA Reads.
type Provider struct {
	Name   string // prefix of the names of its scenarios
	Listen func(ctx context.Context, s paired.Sockets) (transport.Listener, error)
	Dialer func(s paired.Sockets) transport.Dialer // returns a new one, which the client closes
}

// CloseDialer closes a dialer of Provider.Dialer, if it has a Close method.
func CloseDialer(d transport.Dialer) error {
	if c, ok := d.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// Scenarios returns all scenarios of p.
func (p Provider) Scenarios() []paired.Scenario {
	return []paired.Scenario{p.Writes(), p.Reads(), p.PingPong(), p.Calls(), p.Messages()}
}

// Writes returns the Throughput scenario NAME/writes: RDMA Writes of 1 MiB from the client, 8 of
// them outstanding. Its yardstick is paired.TCPStream.
func (p Provider) Writes() paired.Scenario { return p.bulk("writes", transport.OpWrite) }

// Reads returns the Throughput scenario NAME/reads: RDMA Reads of 1 MiB by the client, 8 of them
// outstanding. Its yardstick is paired.TCPRequests.
func (p Provider) Reads() paired.Scenario { return p.bulk("reads", transport.OpRead) }

// PingPong returns the Latency scenario NAME/pingpong: a Send of 128 bytes, answered by a Send.
// Both ends send from within Received. Its yardstick is paired.TCPPingPong.
func (p Provider) PingPong() paired.Scenario {
	return p.scenario("pingpong", paired.Latency, messageBytes, func(c *client) paired.Client {
		return messages{c, 1}
	})
}

// Calls returns the scenario NAME/calls. It is PingPong, except that the caller waits for the
// answer on its own goroutine, and polls if the provider supports that.
func (p Provider) Calls() paired.Scenario {
	return p.scenario("calls", paired.Latency, messageBytes, func(c *client) paired.Client {
		c.sends.poller, _ = transport.As[transport.Poller](c.ep)
		return calls{c}
	})
}

// Messages returns the Rate scenario NAME/messages: Sends of 128 bytes, each answered by a Send, 64
// of them in flight. Both ends send from within Received. Its yardstick is paired.TCPMessages.
func (p Provider) Messages() paired.Scenario {
	return p.scenario("messages", paired.Rate, messageBytes, func(c *client) paired.Client {
		return messages{c, window}
	})
}

func (p Provider) bulk(name string, op transport.Op) paired.Scenario {
	return p.scenario(name, paired.Throughput, bulkBytes, func(c *client) paired.Client {
		return newBulk(c, op)
	})
}

// scenario returns a scenario with the common server, and a client that use makes of the
// connection.
func (p Provider) scenario(
	name string, metric paired.Metric, bytes int, use func(*client) paired.Client,
) paired.Scenario {
	return paired.Scenario{
		Name:   p.Name + "/" + name,
		Metric: metric,
		Bytes:  bytes,
		Listen: func(ctx context.Context, s paired.Sockets) (paired.Server, error) {
			l, err := p.Listen(ctx, s)
			if err != nil {
				return nil, err
			}
			return serve(l), nil
		},
		Dial: func(ctx context.Context, s paired.Sockets, addr string) (paired.Client, error) {
			ctx, cancel := context.WithTimeout(ctx, dialTimeout)
			defer cancel()
			d := p.Dialer(s)
			ep, err := d.Dial(ctx, addr, nil)
			if err != nil {
				return nil, errors.Join(err, CloseDialer(d))
			}
			c, err := newClient(ep)
			if err != nil {
				return nil, errors.Join(err, CloseDialer(d))
			}
			c.dialer = d
			return use(c), nil
		},
	}
}

const dialTimeout = 10 * time.Second
