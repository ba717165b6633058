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
	bulkBytes    = 1 << 20 // of a Write or a Read
	outstanding  = 8       // Writes or Reads at a time
	messageBytes = 128     // of a Send
	window       = 64      // Sends in flight
)

// Provider is a way to make connections. Either end has room for 264 work requests and 64
// receives, and for 8 RDMA Reads.
type Provider struct {
	Name   string // the beginning of the names of its scenarios
	Listen func(ctx context.Context, s paired.Sockets) (transport.Listener, error)
	Dialer func(s paired.Sockets) transport.Dialer // a new one, for a client to close
}

// CloseDialer closes what Provider.Dialer has returned, if it has anything to close.
func CloseDialer(d transport.Dialer) error {
	if c, ok := d.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// Scenarios returns everything that p can be measured in.
func (p Provider) Scenarios() []paired.Scenario {
	return []paired.Scenario{p.Writes(), p.Reads(), p.PingPong(), p.Calls(), p.Messages()}
}

// Writes is NAME/writes, Throughput of RDMA Writes of 1 MiB from the client, of which 8 are
// outstanding. Its yardstick is paired.TCPStream.
func (p Provider) Writes() paired.Scenario { return p.bulk("writes", transport.OpWrite) }

// Reads is NAME/reads, Throughput of RDMA Reads of 1 MiB by the client, of which 8 are
// outstanding. Its yardstick is paired.TCPRequests.
func (p Provider) Reads() paired.Scenario { return p.bulk("reads", transport.OpRead) }

// PingPong is NAME/pingpong, Latency of a Send of 128 bytes that is answered with one. Both ends
// send from within Received. Its yardstick is paired.TCPPingPong.
func (p Provider) PingPong() paired.Scenario {
	return p.scenario("pingpong", paired.Latency, messageBytes, func(c *client) paired.Client {
		return messages{c, 1}
	})
}

// Calls is NAME/calls, which is PingPong for a caller that waits for the answer on a goroutine of
// its own. It polls if the provider lets it.
func (p Provider) Calls() paired.Scenario {
	return p.scenario("calls", paired.Latency, messageBytes, func(c *client) paired.Client {
		c.sends.poller, _ = transport.As[transport.Poller](c.ep)
		return calls{c}
	})
}

// Messages is NAME/messages, Rate of Sends of 128 bytes that are answered with one each, 64 of
// them in flight. Both ends send from within Received. Its yardstick is paired.TCPMessages.
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

// scenario is what the scenarios have in common: one kind of server, and a client that is put to
// some use.
func (p Provider) scenario(name string, metric paired.Metric, bytes int, use func(*client) paired.Client) paired.Scenario {
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
